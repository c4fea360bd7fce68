// Every op, for code that traces.
#pragma once

#include "tenon/ir/ops/annotate.h"
#include "tenon/ir/ops/attention.h"
#include "tenon/ir/ops/contract.h"
#include "tenon/ir/ops/control.h"
#include "tenon/ir/ops/custom_vjp.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/indexing.h"
#include "tenon/ir/ops/manual.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/window.h"
