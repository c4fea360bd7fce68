// Copying blocks out of and into dense row-major arrays.
#pragma once

#include <cstddef>
#include <span>

#include "tenon/base/mesh.h"

namespace tenon {

// `block` = the slice of `array`, which has dimensions `dims`; both dense, elements of `element_size` bytes.
void extract_block(std::span<const std::byte> array, const Dims& dims, const ArraySlice& slice, size_t element_size,
                   std::span<std::byte> block);
// The slice of `array` = `block`.
void insert_block(std::span<const std::byte> block, const ArraySlice& slice, const Dims& dims, size_t element_size,
                  std::span<std::byte> array);

}  // namespace tenon
