#include "tenon/experiments/rule_parts.h"

#include "tenon/base/text.h"
#include "tenon/trainer/modifiers.h"

namespace tenon {

std::string gpus(const std::vector<std::string>& names) { return "gpu-(" + join(names, "|") + ")"; }

std::vector<MachineSize> v5p_sizes(int64_t first) {
  std::vector<MachineSize> out = powers_of_two(first, kMostCores, 2);
  for (const int64_t size : {512, 1024, 2048}) {
    for (const MachineSize& more : slices(size, size / 2, {2, 4, 8})) out.push_back(more);
  }
  return out;
}

MeshConfig shared_by(int64_t fsdp) { return {.data = -1, .fsdp = fsdp}; }
MeshConfig shared_by_all(int64_t model) { return {.data = 1, .fsdp = -1, .model = model}; }

SetRemat keep(RematPolicy policy) { return {.module = "TransformerLayer", .policy = std::move(policy)}; }
SaveTags attention_products() { return {.device = {"q_proj", "k_proj", "v_proj", "context", "o_proj"}}; }

MeshRule on_cpus() { return {.instance = std::string("cpu-.*"), .modifiers = {SetMesh{{.data = -1}}}}; }

}  // namespace tenon
