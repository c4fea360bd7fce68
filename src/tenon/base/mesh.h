// The mesh: devices arranged along named axes, and which piece of an array each device holds.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "tenon/base/partition_spec.h"
#include "tenon/base/shape.h"

namespace tenon {

// The axes, outermost first: devices that differ only in `model` are neighbours.
inline constexpr std::array<std::string_view, 6> kMeshAxes = {"pipeline", "data", "expert", "fsdp", "seq", "model"};

// The part of an array that one device holds: [offset[i], offset[i] + size[i]) of dimension i.
struct ArraySlice {
  Dims offset, size;
  bool operator==(const ArraySlice&) const = default;
};

class Mesh {
 public:
  using Sizes = std::array<int64_t, kMeshAxes.size()>;  // in the order of kMeshAxes

  // All axes of size 1.
  static constexpr Sizes kOnes = {1, 1, 1, 1, 1, 1};

  // One device.
  Mesh() = default;
  // All sizes at least 1. `outer`: into how many parts each axis falls that lie on different slices or nodes; they
  // divide it. Throws `mesh_mismatch`.
  explicit Mesh(const Sizes& sizes, const Sizes& outer = kOnes);
  // Axes that aren't named have size 1; "outer.fsdp" names the outer part of one. Throws `unknown_name`,
  // `mesh_mismatch`.
  Mesh(std::initializer_list<std::pair<std::string_view, int64_t>> sizes);
  // A mesh of exactly `num_devices` devices. At most one size may be -1: what the others leave. Throws `mesh_mismatch`.
  static Mesh resolve(Sizes sizes, int64_t num_devices, const Sizes& outer = kOnes);

  const Sizes& sizes() const { return sizes_; }
  const Sizes& outer() const { return outer_; }
  // Throws `unknown_name` with the nearest axes.
  int64_t size(std::string_view axis) const;
  int64_t num_devices() const;
  // Where device `d` stands along each axis, in the order of kMeshAxes. Devices count row-major, `model` fastest.
  Sizes coordinates(int64_t device) const;
  // Which of the machine's devices, in the machine's order, device `d` is: itself where no axis has an outer part. An
  // index along an axis is outer index x inner size + inner index; the machine's devices count row-major over all outer
  // indices, then over all inner ones, so that those of a slice or node, which follow one another, differ in inner
  // ones.
  int64_t physical_device(int64_t device) const;
  bool operator==(const Mesh&) const = default;

  // Into how many pieces a dimension split over `axis` falls.
  int64_t shards(const Axis& axis) const;
  // The spec with one Axis per dimension and without mesh axes of size 1: two specs of an array place it alike exactly
  // when these are equal. Throws `unknown_name`, or `mesh_mismatch` when the spec has more dimensions than `rank` or
  // names an axis twice.
  PartitionSpec normalize(const PartitionSpec& spec, int64_t rank) const;
  // What one device holds of an array. Throws `mesh_mismatch` naming dimension and axis when one doesn't divide.
  Dims shard_dims(const Dims& dims, const PartitionSpec& spec) const;
  // Each dimension rounded up to what the mesh divides.
  Dims padded_dims(const Dims& dims, const PartitionSpec& spec) const;
  // The piece of `device`. Throws as shard_dims does.
  ArraySlice slice(const Dims& dims, const PartitionSpec& spec, int64_t device) const;
  // The lowest device that holds the same piece as `device`: itself where nothing is replicated.
  int64_t first_holder(const PartitionSpec& spec, int64_t device) const;

 private:
  void check() const;
  Sizes sizes_ = kOnes, outer_ = kOnes;
};

// "data=2,model=4": axes of size 1 are left out; "1" for one device. "data=2,fsdp=4,outer.fsdp=2" with an outer part.
std::string to_string(const Mesh& mesh);

}  // namespace tenon
