// The hardware's own kernels: what there is for each platform, and how a plugin gets to know them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/result.h"
#include "tenon/passes/select_kernels.h"
#include "tenon/pjrt/plugin.h"

namespace tenon {

// For programs compiled for `platform` ("cpu", "cuda", "tpu"), best first; empty where there are none. GPUs:
// `compute_capability` is 90 for 9.0; 0 when not known, which kernels take for one they know.
KernelList kernels_for(std::string_view platform, int compute_capability = 0);

// Those of all platforms that have these names, in their order. Throws `unknown_name` with the nearest.
KernelList kernels_named(const std::vector<std::string>& names, int compute_capability = 0);

// The ops that some platform has a kernel for, by name, in order.
std::vector<std::string> kernel_ops();

// Makes the code of those of `kernels` that have some known to the plugin, once. Errors: `unsupported` when the plugin
// can't run own kernels.
Status register_kernels(const pjrt::Plugin& plugin, const KernelList& kernels);

}  // namespace tenon
