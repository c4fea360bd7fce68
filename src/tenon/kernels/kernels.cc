#include "tenon/kernels/kernels.h"

#include <set>

#include "tenon/kernels/cpu/cpu_kernels.h"
#include "tenon/kernels/cuda/cudnn_attention.h"

namespace tenon {

const KernelList& kernels_for(std::string_view platform) {
  static const KernelList none, cuda = cudnn_attention_kernels();
  if (platform == "cpu") return cpu_kernels();
  return platform == "cuda" ? cuda : none;
}

std::vector<std::string> kernel_ops() {
  std::set<std::string> out;
  for (const char* platform : {"cpu", "cuda"}) {
    for (const KernelImplementation& k : kernels_for(platform)) out.emplace(k.kernel);
  }
  return {out.begin(), out.end()};
}

Status register_kernels(const pjrt::Plugin& plugin, std::string_view platform) {
  return platform == "cpu" ? register_cpu_kernels(plugin) : Status();
}

}  // namespace tenon
