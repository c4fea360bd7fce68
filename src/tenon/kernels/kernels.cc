#include "tenon/kernels/kernels.h"

#include "tenon/kernels/cpu/cpu_kernels.h"

namespace tenon {

const KernelList& kernels_for(std::string_view platform) {
  static const KernelList none;
  return platform == "cpu" ? cpu_kernels() : none;
}

Status register_kernels(const pjrt::Plugin& plugin, std::string_view platform) {
  return platform == "cpu" ? register_cpu_kernels(plugin) : Status();
}

}  // namespace tenon
