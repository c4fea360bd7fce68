#include "tenon/ir/ops/device_groups.h"

#include <algorithm>
#include <map>

namespace tenon {

Dims mesh_dims(const Mesh& mesh) { return {mesh.sizes().begin(), mesh.sizes().end()}; }

Mesh mesh_from(const Attrs& attrs) {
  const Dims& dims = attrs.dims("mesh");
  Mesh::Sizes sizes{};
  std::copy(dims.begin(), dims.end(), sizes.begin());
  return Mesh(sizes);
}

std::vector<std::vector<int64_t>> device_groups(const Mesh& mesh, const Axis& axes) {
  std::map<Mesh::Sizes, std::vector<int64_t>> groups;
  const auto size = static_cast<size_t>(mesh.shards(axes));
  for (int64_t device = 0; device < mesh.num_devices(); ++device) {
    Mesh::Sizes at = mesh.coordinates(device);
    int64_t place = 0;
    for (const std::string& name : axes.names) {
      const auto i = static_cast<size_t>(std::find(kMeshAxes.begin(), kMeshAxes.end(), name) - kMeshAxes.begin());
      place = place * mesh.sizes()[i] + at[i];
      at[i] = 0;
    }
    std::vector<int64_t>& group = groups[at];
    group.resize(size);
    group[static_cast<size_t>(place)] = device;
  }
  std::vector<std::vector<int64_t>> out;
  for (auto& [outside, group] : groups) out.push_back(std::move(group));
  return out;
}

std::vector<int64_t> group_of(const Mesh& mesh, const Axis& axes, int64_t device) {
  for (std::vector<int64_t>& group : device_groups(mesh, axes)) {
    if (std::find(group.begin(), group.end(), device) != group.end()) return std::move(group);
  }
  throw Error(ErrorCode::internal, "a device outside its mesh");
}

}  // namespace tenon
