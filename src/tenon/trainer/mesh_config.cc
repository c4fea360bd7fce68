#include "tenon/trainer/mesh_config.h"

#include <algorithm>

namespace tenon {

void MeshConfig::check(Checker& c) const {
  const Mesh::Sizes sizes = {pipeline, data, expert, fsdp, seq, model};
  for (size_t i = 0; i < sizes.size(); ++i) {
    c.require(sizes[i] >= 1 || sizes[i] == -1, kMeshAxes[i], "must be at least 1, or -1 for what the other axes leave");
  }
  c.require(std::count(sizes.begin(), sizes.end(), -1) <= 1, "data", "only one axis may be -1");
}

Mesh MeshConfig::resolve(int64_t num_devices) const {
  return Mesh::resolve({pipeline, data, expert, fsdp, seq, model}, num_devices);
}

}  // namespace tenon
