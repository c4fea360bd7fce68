#include "tenon/checkpoint/state_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tenon/base/stacked_name.h"
#include "tenon/base/text.h"
#include "tenon/runtime/block_copy.h"

namespace tenon {
namespace {

Dims tensor_shape(const StateArray& array) {
  return array.stack > 0 ? Dims(array.shape.begin() + 1, array.shape.end()) : array.shape;
}

Literal crop(const Literal& stored, const Dims& offset, const Dims& size, const Dims& result) {
  Literal out(TensorType{stored.dtype(), result});
  extract_block(stored.bytes(), stored.dims(), {offset, size}, byte_size(stored.dtype()), out.bytes());
  return out;
}

bool is_kept(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; }

// Whether a tensor of a file can be read as `expected`.
bool readable(const TensorType& got, const TensorType& expected) {
  return got.dims == expected.dims && (got.dtype == expected.dtype || (is_kept(got.dtype) && is_kept(expected.dtype)));
}

Literal in_dtype(DType dtype, Literal value) {
  return value.dtype() == dtype ? std::move(value) : Literal::from(dtype, value.dims(), value.to_doubles());
}

// What a device holds of the stored array: zeros where `slice` is padding, the rest from files.
Literal read_shard(const StateArray& array, const std::vector<std::string>& names, const ArraySlice& slice,
                   const OpenedCheckpoint& checkpoint) {
  ArraySlice logical = slice;
  for (size_t i = 0; i < logical.size.size(); ++i) {
    logical.size[i] = std::clamp<int64_t>(array.shape[i] - slice.offset[i], 0, slice.size[i]);
  }
  Literal shard(TensorType{array.dtype, slice.size});
  if (num_elements(logical.size) == 0) return shard;
  ArraySlice to{Dims(slice.size.size(), 0), logical.size};
  const auto copy = [&](const std::string& name, const ArraySlice& from) {
    const Literal block = in_dtype(array.dtype, checkpoint.read_block(name, from).value());
    insert_block(block.bytes(), to, slice.size, byte_size(array.dtype), shard.bytes());
  };
  if (array.stack == 0) {
    copy(names[0], logical);
    return shard;
  }
  const ArraySlice from{Dims(logical.offset.begin() + 1, logical.offset.end()),
                        Dims(logical.size.begin() + 1, logical.size.end())};
  to.size[0] = 1;
  for (; to.offset[0] < logical.size[0]; ++to.offset[0]) {
    copy(names[static_cast<size_t>(logical.offset[0] + to.offset[0])], from);
  }
  return shard;
}

// "a, b and 3 more".
std::string list(const std::vector<std::string>& items) {
  constexpr size_t kShown = 5;
  std::string out = join({items.begin(), items.begin() + static_cast<int64_t>(std::min(items.size(), kShown))}, ", ");
  if (items.size() > kShown) out += fmt::format(" and {} more", items.size() - kShown);
  return out;
}

}  // namespace

bool is_readable(const TensorType& tensor, const StateArray& array) {
  return readable(tensor, {array.dtype, tensor_shape(array)});
}

TensorType StateArray::stored_type(const Mesh& mesh) const { return {dtype, mesh.padded_dims(shape, partition)}; }

std::vector<std::pair<std::string, Literal>> to_file_tensors(const StateArray& array, const Literal& stored) {
  const std::vector<std::string> names = layer_names(array.name, array.stack);
  std::vector<std::pair<std::string, Literal>> out;
  Dims offset(array.shape.size(), 0), size = array.shape;
  if (array.stack == 0) {
    out.emplace_back(names[0], crop(stored, offset, size, array.shape));
    return out;
  }
  size[0] = 1;
  for (const std::string& name : names) {
    out.emplace_back(name, crop(stored, offset, size, tensor_shape(array)));
    ++offset[0];
  }
  return out;
}

std::string to_string(const TreeDifference& d) {
  std::vector<std::string> parts;
  if (!d.missing.empty()) parts.push_back("missing: " + list(d.missing));
  if (!d.unexpected.empty()) parts.push_back("unexpected: " + list(d.unexpected));
  if (!d.types.empty()) parts.push_back("of another shape: " + list(d.types));
  return join(parts, "; ");
}

TreeDifference compare_tree(std::span<const StateArray> arrays, const OpenedCheckpoint& checkpoint,
                            const std::function<bool(std::string_view)>& selected) {
  std::map<std::string, TensorType> expected;
  for (const StateArray& array : arrays) {
    for (const std::string& name : layer_names(array.name, array.stack)) {
      if (selected(name)) expected[name] = {array.dtype, tensor_shape(array)};
    }
  }
  TreeDifference out;
  for (const std::string& name : checkpoint.names()) {
    if (!selected(name)) continue;
    const auto it = expected.find(name);
    if (it == expected.end()) {
      out.unexpected.push_back(name);
      continue;
    }
    const TensorType got = checkpoint.type(name).value();
    if (!readable(got, it->second)) {
      out.types.push_back(fmt::format("{} ({}, expected {})", name, to_string(got), to_string(it->second)));
    }
    expected.erase(it);
  }
  for (const auto& [name, type] : expected) out.missing.push_back(name);
  return out;
}

void check_compatible(std::span<const StateArray> arrays, const OpenedCheckpoint& checkpoint,
                      std::string_view ignored) {
  const TreeDifference difference = compare_tree(
      arrays, checkpoint, [&](std::string_view name) { return ignored.empty() || !name.starts_with(ignored); });
  if (difference.fits(TreeCheck::exact)) return;
  throw Error(ErrorCode::incompatible, "the checkpoint is of another architecture; " + to_string(difference))
      .at(checkpoint.path())
      .hint("use the config it was trained with (config.toml beside it), or another directory");
}

Array restore_array(const StateArray& array, const OpenedCheckpoint& checkpoint,
                    const std::shared_ptr<const Backend>& backend, const Mesh& mesh) {
  const std::vector<std::string> names = layer_names(array.name, array.stack);
  for (const std::string& name : names) {
    const TensorType got = checkpoint.type(name).value();
    if (is_readable(got, array)) continue;
    throw Error(ErrorCode::incompatible, "a tensor of another type")
        .at(name)
        .got(to_string(got))
        .expected(to_string(TensorType{array.dtype, tensor_shape(array)}));
  }
  Literal block;
  const auto read = [&](const ArraySlice& slice) -> std::span<const std::byte> {
    block = read_shard(array, names, slice, checkpoint);
    return std::as_const(block).bytes();
  };
  return Array::from_blocks(backend, mesh, array.partition, array.stored_type(mesh), read, array.memory);
}

}  // namespace tenon
