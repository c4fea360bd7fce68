#include "tenon/kernels/kernels.h"

#include <set>

#include "tenon/kernels/cpu/cpu_kernels.h"
#include "tenon/kernels/cuda/cudnn_attention.h"
#include "tenon/kernels/cuda/triton_attention.h"
#include "tenon/kernels/tpu/mosaic_attention.h"

namespace tenon {

KernelList kernels_for(std::string_view platform, int compute_capability) {
  if (platform == "cpu") return cpu_kernels();
  if (platform == "tpu") return mosaic_attention_kernels();
  if (platform != "cuda") return {};
  KernelList out = cudnn_attention_kernels(compute_capability);
  for (const KernelImplementation& k : triton_attention_kernels(compute_capability)) out.push_back(k);
  return out;
}

std::vector<std::string> kernel_ops() {
  std::set<std::string> out;
  for (const char* platform : {"cpu", "cuda", "tpu"}) {
    for (const KernelImplementation& k : kernels_for(platform)) out.emplace(k.kernel);
  }
  return {out.begin(), out.end()};
}

Status register_kernels(const pjrt::Plugin& plugin, std::string_view platform) {
  return platform == "cpu" ? register_cpu_kernels(plugin) : Status();
}

}  // namespace tenon
