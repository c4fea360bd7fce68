// The mesh as users write it: `mesh.fsdp = 2`.
#pragma once

#include <cstdint>

#include "tenon/base/mesh.h"
#include "tenon/config/config.h"

namespace tenon {

// How many devices lie along each axis. One size may be -1: what the others leave.
struct MeshConfig {
  int64_t pipeline = 1, data = -1, expert = 1, fsdp = 1, seq = 1, model = 1;
  void check(Checker& c) const;
  TENON_FIELDS(pipeline, data, expert, fsdp, seq, model)
  bool operator==(const MeshConfig&) const = default;

  // A mesh of exactly `num_devices` devices. Throws `mesh_mismatch`.
  Mesh resolve(int64_t num_devices) const;
};

}  // namespace tenon
