// Shapes: dimensions, tensor types, strides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/base/dtype.h"

namespace tenon {

using Dims = std::vector<int64_t>;
// A dimension, or the number of one, to index with.
inline size_t as_size(int64_t dim) { return static_cast<size_t>(dim); }

// Product of the dimensions, 1 for a scalar. Throws `invalid_argument` on a negative dimension or overflow.
int64_t num_elements(const Dims& dims);
// Row-major strides in elements.
Dims row_major_strides(const Dims& dims);
// "[2,3]", "[]".
std::string to_string(const Dims& dims);

struct TensorType {
  DType dtype = DType::f32;
  Dims dims;
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  bool operator==(const TensorType&) const = default;
};

// "f32[2,3]".
std::string to_string(const TensorType& type);
// Bytes of a dense array of this type. Throws `invalid_argument` on overflow.
int64_t byte_size(const TensorType& type);

}  // namespace tenon
