// Which devices a collective joins.
#pragma once

#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/ir/attrs.h"

namespace tenon {

// A mesh as an attribute "mesh": its sizes.
Dims mesh_dims(const Mesh& mesh);
// Without its outer part, which is no part of a program.
Mesh mesh_from(const Attrs& attrs);

// Devices that differ only along `axes`, in row-major order of these, the last fastest.
std::vector<std::vector<int64_t>> device_groups(const Mesh& mesh, const Axis& axes);
// The group with `device` in it.
std::vector<int64_t> group_of(const Mesh& mesh, const Axis& axes, int64_t device);

}  // namespace tenon
