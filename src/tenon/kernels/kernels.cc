#include "tenon/kernels/kernels.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "tenon/base/text.h"
#include "tenon/kernels/cpu/cpu_kernels.h"
#include "tenon/kernels/cuda/cudnn_attention.h"
#include "tenon/kernels/cuda/triton_attention.h"
#include "tenon/kernels/tpu/mosaic_attention.h"

namespace tenon {
namespace {

constexpr const char* kPlatforms[] = {"cpu", "cuda", "tpu"};

}  // namespace

KernelList kernels_for(std::string_view platform, int compute_capability) {
  if (platform == "cpu") return cpu_kernels();
  if (platform == "tpu") return mosaic_attention_kernels();
  if (platform != "cuda") return {};
  KernelList out = cudnn_attention_kernels(compute_capability);
  for (const KernelImplementation& k : triton_attention_kernels(compute_capability)) out.push_back(k);
  return out;
}

KernelList kernels_named(const std::vector<std::string>& names, int compute_capability) {
  KernelList all, out;
  std::vector<std::string> known;
  for (const char* platform : kPlatforms) {
    for (KernelImplementation& k : kernels_for(platform, compute_capability)) {
      if (known.empty() || known.back() != k.name) known.emplace_back(k.name);
      all.push_back(std::move(k));
    }
  }
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error(ErrorCode::unknown_name, "no kernel is called so")
          .got(quote_text(name))
          .expected(join(known, ", "))
          .hint(did_you_mean(name, known));
    }
    std::copy_if(all.begin(), all.end(), std::back_inserter(out), [&](const auto& k) { return k.name == name; });
  }
  return out;
}

std::vector<std::string> kernel_ops() {
  std::set<std::string> out;
  for (const char* platform : kPlatforms) {
    for (const KernelImplementation& k : kernels_for(platform)) out.emplace(k.kernel);
  }
  return {out.begin(), out.end()};
}

Status register_kernels(const pjrt::Plugin& plugin, const KernelList& kernels) {
  const KernelList& with_code = cpu_kernels();
  const bool has_code = std::any_of(kernels.begin(), kernels.end(), [&](const KernelImplementation& k) {
    return std::any_of(with_code.begin(), with_code.end(), [&](const auto& of_cpu) { return of_cpu.name == k.name; });
  });
  return has_code ? register_cpu_kernels(plugin) : Status();
}

}  // namespace tenon
