// The CPU's kernels: reached through XLA's typed FFI, run on its threads.
#pragma once

#include "tenon/base/result.h"
#include "tenon/passes/select_kernels.h"
#include "tenon/pjrt/plugin.h"

namespace tenon {

const KernelList& cpu_kernels();
Status register_cpu_kernels(const pjrt::Plugin& plugin);

}  // namespace tenon
