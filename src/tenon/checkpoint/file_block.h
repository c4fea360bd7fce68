// Reading part of an array that lies in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/base/file.h"
#include "tenon/base/mesh.h"

namespace tenon {

// Fills `block`, dense, with the slice of the row-major array of dimensions `dims` whose bytes begin at `begin`; the
// slice lies within `dims`. Nothing else is read but gaps shorter than a page, which cost the disk nothing.
Status read_file_block(const InputFile& file, uint64_t begin, const Dims& dims, const ArraySlice& slice,
                       size_t element_size, std::span<std::byte> block);

}  // namespace tenon
