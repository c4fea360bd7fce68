#include "tenon/ir/mesh_scope.h"

namespace tenon {
namespace {

thread_local const Mesh* current = nullptr;

}  // namespace

const Mesh& program_mesh() {
  static const Mesh one;
  return current == nullptr ? one : *current;
}

MeshScope::MeshScope(const Mesh& mesh) : mesh_(mesh), previous_(current) { current = &mesh_; }
MeshScope::~MeshScope() { current = previous_; }

}  // namespace tenon
