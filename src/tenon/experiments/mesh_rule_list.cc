#include "tenon/experiments/mesh_rule_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tenon/base/error.h"
#include "tenon/base/text.h"
#include "tenon/trainer/modifiers.h"
#include "tenon/trainer/train_step.h"

namespace tenon {
namespace {

constexpr int64_t kMostGrowth = 8;

// What depends on the size.
struct Sized {
  MeshConfig mesh;
  int64_t accumulation = 1;
  bool operator==(const Sized&) const = default;
};

int64_t groups_of(const MeshConfig& mesh, int64_t devices) {
  return mesh.resolve(devices).shards(batch_partition().dims()[0]);
}

}  // namespace

std::vector<MachineSize> powers_of_two(int64_t first, int64_t last, int64_t per_device) {
  std::vector<MachineSize> out;
  for (int64_t size = first; size <= last; size *= 2) out.push_back({std::to_string(size), size / per_device});
  return out;
}

std::vector<MachineSize> slices(int64_t size, int64_t devices, const std::vector<int64_t>& counts) {
  std::vector<MachineSize> out;
  for (const int64_t count : counts) {
    out.push_back({count == 1 ? std::to_string(size) : fmt::format("{}-{}", size, count), devices * count});
  }
  return out;
}

void MeshRuleList::add(const std::string& kind, const std::vector<MachineSize>& sizes, const MachineLayout& layout) {
  const auto fit = [&](int64_t devices) -> std::optional<Sized> {
    Sized out{layout.mesh};
    const int64_t growth = std::max<int64_t>(1, groups_of(layout.mesh, devices) / num_sequences_);
    if (growth > kMostGrowth) return std::nullopt;
    out.mesh.model *= growth;
    if (out.mesh.fsdp > 0) out.mesh.fsdp = std::max<int64_t>(1, out.mesh.fsdp / growth);
    const int64_t at_once = std::max<int64_t>(1, layout.tokens_at_once / sequence_length_);
    const int64_t share = num_sequences_ / groups_of(out.mesh, devices);
    out.accumulation = std::max<int64_t>(1, share / at_once);
    return out;
  };
  for (size_t i = 0; i < sizes.size();) {
    const std::optional<Sized> sized = fit(sizes[i].devices);
    std::vector<std::string> names;
    for (; i < sizes.size() && fit(sizes[i].devices) == sized; ++i) names.push_back(sizes[i].name);
    if (!sized) continue;
    const std::string size = names.size() == 1 ? names[0] : "(" + join(names, "|") + ")";
    std::vector<Modifier> modifiers{SetMesh{sized->mesh}};
    modifiers.insert(modifiers.end(), layout.modifiers.begin(), layout.modifiers.end());
    if (sized->accumulation > 1) modifiers.emplace_back(AccumulateGradients{sized->accumulation});
    add({.instance = kind + "-" + size, .modifiers = std::move(modifiers)});
  }
}

}  // namespace tenon
