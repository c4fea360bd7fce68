// Numbers the elements of an array for random draws.
#pragma once

#include "tenon/ir/tensor.h"

namespace tenon {

struct ElementCounter {
  Tensor low, high;  // u32, of one shape
};

// The 64-bit sum of index[first + i] * strides[i] at every element of an array of `shape`; dimensions before `first`
// don't count. `strides` has one entry for each dimension from `first`.
ElementCounter element_counter(const Dims& shape, size_t first, const Dims& strides);

}  // namespace tenon
