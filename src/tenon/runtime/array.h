// An array on the devices of a mesh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tenon/base/literal.h"
#include "tenon/base/memory_kind.h"
#include "tenon/base/mesh.h"
#include "tenon/pjrt/buffer.h"
#include "tenon/runtime/backend.h"

namespace tenon {

// A handle: copies share the contents, which never change. Its values may still be on the way; reading waits for them.
// An array that was donated to a program is gone, in every copy: using it throws `wrong_context`.
class Array {
 public:
  // Nothing; only to be assigned to.
  Array() = default;
  // Puts a literal on the first devices of `backend`, as many as `mesh` has, split as `spec` says. Throws
  // `mesh_mismatch` when a dimension doesn't divide or there are too few devices, `plugin` when memory runs out,
  // `unsupported` when the devices have no such memory.
  static Array from_literal(std::shared_ptr<const Backend> backend, const Mesh& mesh, const PartitionSpec& spec,
                            const Literal& literal, MemoryKind memory = MemoryKind::device);
  // The same for an array of `type` that never stands in this process's memory as a whole: `block` gives the bytes of
  // one piece, valid until the next call, and is asked once for each, however many devices hold it.
  using BlockSource = std::function<std::span<const std::byte>(const ArraySlice&)>;
  static Array from_blocks(std::shared_ptr<const Backend> backend, const Mesh& mesh, const PartitionSpec& spec,
                           TensorType type, const BlockSource& block, MemoryKind memory = MemoryKind::device);
  // From the buffers of each device of the mesh, in mesh order, each holding what Mesh::slice gives, in this memory.
  static Array from_buffers(std::shared_ptr<const Backend> backend, const Mesh& mesh, const PartitionSpec& spec,
                            TensorType type, std::vector<pjrt::Buffer> buffers, MemoryKind memory = MemoryKind::device);

  explicit operator bool() const { return state_ != nullptr; }
  // The whole array: its logical type, not a shard's.
  const TensorType& type() const { return state().type; }
  const PartitionSpec& spec() const { return state().spec; }  // as Mesh::normalize gives it
  const Mesh& mesh() const { return state().mesh; }
  const std::shared_ptr<const Backend>& backend() const { return state().backend; }
  MemoryKind memory() const { return state().memory; }
  bool is_donated() const { return state().donated; }

  // The values, gathered from all devices. Throws the error of the program that should have made them.
  Literal to_literal() const;
  // The piece that one device holds.
  Literal shard(int64_t device) const;
  // Blocks until the values are there; throws as to_literal does.
  void wait() const;

  // For running programs: the buffer on each device; and giving them up.
  const std::vector<pjrt::Buffer>& buffers() const;
  void mark_donated() const;

 private:
  struct State {
    std::shared_ptr<const Backend> backend;
    Mesh mesh;
    PartitionSpec spec;
    TensorType type;
    std::vector<pjrt::Buffer> buffers;
    MemoryKind memory = MemoryKind::device;
    bool donated = false;
  };
  const State& state() const;

  std::shared_ptr<State> state_;
};

}  // namespace tenon
