#include "tenon/base/shape.h"

#include <algorithm>

#include "tenon/base/error.h"

namespace tenon {
namespace {

int64_t multiply(int64_t a, int64_t b, const Dims& dims) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw Error(ErrorCode::invalid_argument, "the size of a shape doesn't fit in 64 bits").got(to_string(dims));
  }
  return product;
}

void check_dims(const Dims& dims) {
  for (const int64_t dim : dims) {
    if (dim < 0) throw Error(ErrorCode::invalid_argument, "a dimension is negative").got(to_string(dims));
  }
}

}  // namespace

int64_t num_elements(const Dims& dims) {
  check_dims(dims);
  // An empty array is small however large its other dimensions are.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t count = 1;
  for (const int64_t dim : dims) count = multiply(count, dim, dims);
  return count;
}

Dims row_major_strides(const Dims& dims) {
  check_dims(dims);
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = multiply(strides[i], dims[i], dims);
  return strides;
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + "]";
}

std::string to_string(const TensorType& type) { return std::string(to_string(type.dtype)) + to_string(type.dims); }

int64_t byte_size(const TensorType& type) {
  return multiply(num_elements(type.dims), static_cast<int64_t>(byte_size(type.dtype)), type.dims);
}

}  // namespace tenon
