#include "tenon/trainer/mesh_config.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon {
namespace {

// Of MeshConfig and OuterMesh.
template <class Axes>
Mesh::Sizes sizes_of(const Axes& axes) {
  return {axes.pipeline, axes.data, axes.expert, axes.fsdp, axes.seq, axes.model};
}

}  // namespace

void MeshConfig::check(Checker& c) const {
  const Mesh::Sizes sizes = sizes_of(*this), parts = outer ? sizes_of(*outer) : Mesh::kOnes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    c.require(sizes[i] >= 1 || sizes[i] == -1, kMeshAxes[i], "must be at least 1, or -1 for what the other axes leave");
    const std::string part = fmt::format("outer.{}", kMeshAxes[i]);
    c.require(parts[i] >= 1, part, "must be at least 1");
    c.require(parts[i] < 1 || sizes[i] < 1 || sizes[i] % parts[i] == 0, part,
              fmt::format("must divide the axis, whose size is {}", sizes[i]));
  }
  c.require(std::count(sizes.begin(), sizes.end(), -1) <= 1, "data", "only one axis may be -1");
}

MeshConfig MeshConfig::of(const Mesh& mesh) {
  const auto& [pipeline, data, expert, fsdp, seq, model] = mesh.sizes();
  MeshConfig out{pipeline, data, expert, fsdp, seq, model};
  if (mesh.outer() != Mesh::kOnes) {
    const auto& [o_pipeline, o_data, o_expert, o_fsdp, o_seq, o_model] = mesh.outer();
    out.outer = OuterMesh{o_pipeline, o_data, o_expert, o_fsdp, o_seq, o_model};
  }
  return out;
}

Mesh MeshConfig::resolve(int64_t num_devices) const {
  return Mesh::resolve(sizes_of(*this), num_devices, outer ? sizes_of(*outer) : Mesh::kOnes);
}

}  // namespace tenon
