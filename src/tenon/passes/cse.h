// Common-subexpression elimination: what is computed twice is computed once.
#pragma once

#include "tenon/ir/trace.h"

namespace tenon {

// Ops are equal when they are one op with equal attributes on equal values. Of equal ops the first stays. Inside a
// region a value from outside stands for an equal one when computing it again would be dear and both have one remat
// scope: whatever a loop captures, it carries. Nothing goes in or out of a region that may read nothing from outside
// (manual, kernels, custom_vjp).
//
// What recomputation makes twice on purpose stays twice: it reads other values, those behind an optimization_barrier,
// and barriers are never equal. Neither are moves to other memory, collectives and ops with regions.
void eliminate_common_subexpressions(Graph& graph);

}  // namespace tenon
