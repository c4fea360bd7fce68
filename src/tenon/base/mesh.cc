#include "tenon/base/mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "tenon/base/text.h"

namespace tenon {
namespace {

size_t axis_index(std::string_view name) {
  const auto it = std::find(kMeshAxes.begin(), kMeshAxes.end(), name);
  if (it != kMeshAxes.end()) return static_cast<size_t>(it - kMeshAxes.begin());
  const std::vector<std::string> known(kMeshAxes.begin(), kMeshAxes.end());
  throw Error(ErrorCode::unknown_name, fmt::format("no mesh axis is called \"{}\"", name))
      .expected(join(known, ", "))
      .hint(did_you_mean(name, known));
}

int64_t checked_product(int64_t a, int64_t b) {
  if (b != 0 && a > std::numeric_limits<int64_t>::max() / b) {
    throw Error(ErrorCode::mesh_mismatch, "the mesh has too many devices to count");
  }
  return a * b;
}

void check_size(size_t axis, int64_t size) {
  if (size >= 1) return;
  throw Error(ErrorCode::mesh_mismatch, fmt::format("mesh axis {} must have a size of at least 1", kMeshAxes[axis]))
      .got(std::to_string(size));
}

int64_t product_of(const Mesh::Sizes& sizes) {
  int64_t product = 1;
  for (const int64_t s : sizes) product = checked_product(product, s);
  return product;
}

void check_outer(size_t axis, int64_t size, int64_t outer) {
  if (outer >= 1 && size % outer == 0) return;
  throw Error(ErrorCode::mesh_mismatch,
              fmt::format("the outer part of mesh axis {} does not divide the axis", kMeshAxes[axis]))
      .at(fmt::format("mesh.outer.{}", kMeshAxes[axis]))
      .got(fmt::format("{} of {}", outer, size));
}

std::string describe(const Mesh::Sizes& sizes) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1) parts.push_back(fmt::format("{}={}", kMeshAxes[i], sizes[i]));
  }
  return parts.empty() ? "1" : join(parts, ",");
}

}  // namespace

Mesh::Mesh(const Sizes& sizes, const Sizes& outer) : sizes_(sizes), outer_(outer) { check(); }

Mesh::Mesh(std::initializer_list<std::pair<std::string_view, int64_t>> sizes) : Mesh() {
  constexpr std::string_view kOuter = "outer.";
  for (const auto& [name, size] : sizes) {
    if (name.starts_with(kOuter)) {
      outer_[axis_index(name.substr(kOuter.size()))] = size;
    } else {
      sizes_[axis_index(name)] = size;
    }
  }
  check();
}

void Mesh::check() const {
  for (size_t i = 0; i < sizes_.size(); ++i) {
    check_size(i, sizes_[i]);
    check_outer(i, sizes_[i], outer_[i]);
  }
  product_of(sizes_);
}

Mesh Mesh::resolve(Sizes sizes, int64_t num_devices, const Sizes& outer) {
  std::optional<size_t> open;
  int64_t rest = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      if (open) {
        throw Error(ErrorCode::mesh_mismatch,
                    fmt::format("mesh axes {} and {} are both -1; only one may be", kMeshAxes[*open], kMeshAxes[i]));
      }
      open = i;
      continue;
    }
    check_size(i, sizes[i]);
    rest = checked_product(rest, sizes[i]);
  }
  if (open) {
    if (num_devices < 1 || num_devices % rest != 0) {
      throw Error(ErrorCode::mesh_mismatch, fmt::format("mesh axis {} is -1 (what the other axes leave), but their "
                                                        "product {} does not divide {} devices",
                                                        kMeshAxes[*open], rest, num_devices))
          .got(describe(sizes));
    }
    sizes[*open] = num_devices / rest;
  } else if (rest != num_devices) {
    throw Error(ErrorCode::mesh_mismatch, "the mesh does not fit the devices")
        .got(fmt::format("mesh {} = {} device{}", describe(sizes), rest, rest == 1 ? "" : "s"))
        .expected(fmt::format("{} device{}", num_devices, num_devices == 1 ? "" : "s"))
        .hint("set one axis to -1 to let it take all devices, or take as many devices (cpu:N is N virtual ones)");
  }
  return Mesh(sizes, outer);
}

int64_t Mesh::size(std::string_view axis) const { return sizes_[axis_index(axis)]; }

int64_t Mesh::num_devices() const { return product_of(sizes_); }

Mesh::Sizes Mesh::coordinates(int64_t device) const {
  if (device < 0 || device >= num_devices()) {
    throw Error(ErrorCode::mesh_mismatch, fmt::format("no device {} in mesh {}", device, to_string(*this)));
  }
  Sizes result{};
  for (size_t i = sizes_.size(); i-- > 0;) {
    result[i] = device % sizes_[i];
    device /= sizes_[i];
  }
  return result;
}

int64_t Mesh::physical_device(int64_t device) const {
  const Sizes at = coordinates(device);
  int64_t outer = 0, inner = 0;
  for (size_t i = 0; i < sizes_.size(); ++i) {
    const int64_t inner_size = sizes_[i] / outer_[i];
    outer = outer * outer_[i] + at[i] / inner_size;
    inner = inner * inner_size + at[i] % inner_size;
  }
  return outer * (num_devices() / product_of(outer_)) + inner;
}

int64_t Mesh::shards(const Axis& axis) const {
  int64_t product = 1;
  for (const std::string& name : axis.names) product *= size(name);
  return product;
}

PartitionSpec Mesh::normalize(const PartitionSpec& spec, int64_t rank) const {
  if (static_cast<int64_t>(spec.dims().size()) > rank) {
    throw Error(ErrorCode::mesh_mismatch, "a partition has more dimensions than its array")
        .got(fmt::format("\"{}\"", to_string(spec)))
        .expected(fmt::format("at most {}", rank));
  }
  std::array<bool, kMeshAxes.size()> used{};
  std::vector<Axis> dims(static_cast<size_t>(rank));
  for (size_t i = 0; i < spec.dims().size(); ++i) {
    for (const std::string& name : spec.dims()[i].names) {
      const size_t axis = axis_index(name);
      if (used[axis]) {
        throw Error(ErrorCode::mesh_mismatch,
                    fmt::format("partition \"{}\" splits over axis {} twice", to_string(spec), name));
      }
      used[axis] = true;
      if (sizes_[axis] > 1) dims[i].names.push_back(name);
    }
  }
  return PartitionSpec(std::move(dims));
}

Dims Mesh::shard_dims(const Dims& dims, const PartitionSpec& spec) const {
  const PartitionSpec normal = normalize(spec, static_cast<int64_t>(dims.size()));
  Dims result = dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Axis& axis = normal.dims()[i];
    const int64_t pieces = shards(axis);
    if (dims[i] % pieces != 0) {
      throw Error(ErrorCode::mesh_mismatch, fmt::format("dimension {} of {} does not divide over mesh axis {}", i,
                                                        to_string(dims), join(axis.names, "+")))
          .got(fmt::format("{} over {}", dims[i], pieces))
          .hint(fmt::format("pad it to {}, or leave it unsplit", (dims[i] + pieces - 1) / pieces * pieces));
    }
    result[i] /= pieces;
  }
  return result;
}

Dims Mesh::padded_dims(const Dims& dims, const PartitionSpec& spec) const {
  const PartitionSpec normal = normalize(spec, static_cast<int64_t>(dims.size()));
  Dims result = dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t pieces = shards(normal.dims()[i]);
    if (dims[i] > std::numeric_limits<int64_t>::max() - pieces) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("dimension {} of {} is too large to pad", i, to_string(dims)));
    }
    result[i] = (dims[i] + pieces - 1) / pieces * pieces;
  }
  return result;
}

ArraySlice Mesh::slice(const Dims& dims, const PartitionSpec& spec, int64_t device) const {
  const Sizes at = coordinates(device);
  ArraySlice result{Dims(dims.size(), 0), shard_dims(dims, spec)};
  for (size_t i = 0; i < spec.dims().size(); ++i) {
    int64_t piece = 0;
    for (const std::string& name : spec.dims()[i].names) {
      const size_t axis = axis_index(name);
      piece = piece * sizes_[axis] + at[axis];
    }
    result.offset[i] = piece * result.size[i];
  }
  return result;
}

int64_t Mesh::first_holder(const PartitionSpec& spec, int64_t device) const {
  Sizes at = coordinates(device);
  std::array<bool, kMeshAxes.size()> used{};
  for (const Axis& axis : spec.dims()) {
    for (const std::string& name : axis.names) used[axis_index(name)] = true;
  }
  int64_t first = 0;
  for (size_t i = 0; i < sizes_.size(); ++i) first = first * sizes_[i] + (used[i] ? at[i] : 0);
  return first;
}

std::string to_string(const Mesh& mesh) {
  std::string out = describe(mesh.sizes());
  for (size_t i = 0; i < kMeshAxes.size(); ++i) {
    if (mesh.outer()[i] != 1) out += fmt::format(",outer.{}={}", kMeshAxes[i], mesh.outer()[i]);
  }
  return out;
}

}  // namespace tenon
