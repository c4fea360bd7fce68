#include "tenon/runtime/block_copy.h"

#include <cstring>

namespace tenon {
void for_each_run(const Dims& dims, const ArraySlice& slice, const std::function<void(const BlockRun&)>& visit) {
  if (num_elements(slice.size) == 0) return;
  // Dimensions from `split` on form one run: all after it are taken whole.
  size_t split = dims.size();
  while (split > 0 && (split == dims.size() || slice.size[split] == dims[split])) --split;
  const Dims strides = row_major_strides(dims);
  int64_t length = 1, base = 0, runs = 1;
  for (size_t i = split; i < dims.size(); ++i) length *= slice.size[i];
  for (size_t i = 0; i < dims.size(); ++i) base += slice.offset[i] * strides[i];
  for (size_t i = 0; i < split; ++i) runs *= slice.size[i];
  Dims at(split, 0);
  for (int64_t r = 0; r < runs; ++r) {
    int64_t offset = base;
    for (size_t i = 0; i < split; ++i) offset += at[i] * strides[i];
    visit({offset, r * length, length});
    for (size_t i = split; i-- > 0;) {
      if (++at[i] < slice.size[i]) break;
      at[i] = 0;
    }
  }
}

namespace {

// The same in bytes: f(offset in array, offset in block, length).
template <class F>
void for_each_byte_run(const Dims& dims, const ArraySlice& slice, size_t element_size, F f) {
  for_each_run(dims, slice, [&](const BlockRun& run) {
    f(static_cast<size_t>(run.array_offset) * element_size, static_cast<size_t>(run.block_offset) * element_size,
      static_cast<size_t>(run.length) * element_size);
  });
}

}  // namespace

void extract_block(std::span<const std::byte> array, const Dims& dims, const ArraySlice& slice, size_t element_size,
                   std::span<std::byte> block) {
  for_each_byte_run(dims, slice, element_size, [&](size_t from, size_t to, size_t length) {
    std::memcpy(block.data() + to, array.data() + from, length);
  });
}

void insert_block(std::span<const std::byte> block, const ArraySlice& slice, const Dims& dims, size_t element_size,
                  std::span<std::byte> array) {
  for_each_byte_run(dims, slice, element_size, [&](size_t to, size_t from, size_t length) {
    std::memcpy(array.data() + to, block.data() + from, length);
  });
}

}  // namespace tenon
