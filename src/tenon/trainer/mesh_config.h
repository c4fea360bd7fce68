// The mesh as users write it: `mesh.fsdp = 2`.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/base/mesh.h"
#include "tenon/config/config.h"

namespace tenon {

// Into how many parts each axis falls that lie on different slices or nodes; what is left of it lies within one.
struct OuterMesh {
  int64_t pipeline = 1, data = 1, expert = 1, fsdp = 1, seq = 1, model = 1;
  TENON_FIELDS(pipeline, data, expert, fsdp, seq, model)
  bool operator==(const OuterMesh&) const = default;
};

// How many devices lie along each axis. One size may be -1: what the others leave. Without `outer` the axes are laid
// over the machine's devices in order, so that the outermost lie between its slices or nodes.
struct MeshConfig {
  int64_t pipeline = 1, data = -1, expert = 1, fsdp = 1, seq = 1, model = 1;
  std::optional<OuterMesh> outer = {};
  void check(Checker& c) const;
  TENON_FIELDS(pipeline, data, expert, fsdp, seq, model, outer)
  bool operator==(const MeshConfig&) const = default;

  static MeshConfig of(const Mesh& mesh);
  // A mesh of exactly `num_devices` devices. Throws `mesh_mismatch`.
  Mesh resolve(int64_t num_devices) const;
};

}  // namespace tenon
