// Copying blocks out of and into dense row-major arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "tenon/base/mesh.h"

namespace tenon {

// Elements that lie behind one another both in an array and in a block of it.
struct BlockRun {
  int64_t array_offset = 0, block_offset = 0, length = 0;
};
// Calls `visit` with every run of the slice of an array of dimensions `dims`, ascending in both.
void for_each_run(const Dims& dims, const ArraySlice& slice, const std::function<void(const BlockRun&)>& visit);

// `block` = the slice of `array`, which has dimensions `dims`; both dense, elements of `element_size` bytes.
void extract_block(std::span<const std::byte> array, const Dims& dims, const ArraySlice& slice, size_t element_size,
                   std::span<std::byte> block);
// The slice of `array` = `block`.
void insert_block(std::span<const std::byte> block, const ArraySlice& slice, const Dims& dims, size_t element_size,
                  std::span<std::byte> array);

}  // namespace tenon
