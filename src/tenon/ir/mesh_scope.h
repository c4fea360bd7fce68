// The mesh that a program is traced for: what code needs to know that splits its work over devices by itself.
#pragma once

#include "tenon/base/mesh.h"

namespace tenon {

// One device, unless a MeshScope is alive on this thread.
const Mesh& program_mesh();

// Says what it is, while it lives.
class [[nodiscard]] MeshScope {
 public:
  explicit MeshScope(const Mesh& mesh);
  ~MeshScope();
  MeshScope(const MeshScope&) = delete;
  MeshScope& operator=(const MeshScope&) = delete;

 private:
  Mesh mesh_;
  const Mesh* previous_;
};

}  // namespace tenon
