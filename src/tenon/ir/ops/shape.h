// Constants, and ops that move or repeat elements.
#pragma once

#include <span>
#include <vector>

#include "tenon/base/literal.h"
#include "tenon/ir/tensor.h"

namespace tenon {

Tensor constant(Literal value);
// A scalar constant, or one value in every element. Throws `invalid_argument` when an integer dtype can't hold `value`.
Tensor full(const TensorType& type, double value);
Tensor zeros(const TensorType& type);
Tensor zeros_like(const Tensor& x);
Tensor full_like(const Tensor& x, double value);
// 0, 1, 2, … along dimension `dim`.
Tensor iota(const TensorType& type, int64_t dim);

// Dimension i of `x` becomes dimension dims[i] of the result (strictly increasing); size 1 repeats.
Tensor broadcast_in_dim(const Tensor& x, const Dims& shape, const Dims& dims);
// NumPy's rule: aligns trailing dimensions, size 1 or missing ones repeat. Same shape: `x` itself.
Tensor broadcast_to(const Tensor& x, const Dims& shape);
// The shape both broadcast to; throws `shape_mismatch`.
Dims broadcast_shape(const Dims& a, const Dims& b);

// Row-major reshape; one dimension may be -1.
Tensor reshape(const Tensor& x, Dims shape);
// Adds a dimension of size 1 in front of dimension `dim` (negative: from the end of the result).
Tensor expand_dims(const Tensor& x, int64_t dim);
Tensor squeeze(const Tensor& x, int64_t dim);
// Dimension i of the result is dimension permutation[i] of `x`.
Tensor transpose(const Tensor& x, const Dims& permutation);
// Elements [start, limit) with strides in every dimension.
Tensor slice(const Tensor& x, const Dims& start, const Dims& limit, const Dims& strides = {});
// [begin, end) of one dimension.
Tensor slice_dim(const Tensor& x, int64_t dim, int64_t begin, int64_t end);
// `value` (scalar) before, after and between the elements; negative low and high crop.
Tensor pad(const Tensor& x, const Tensor& value, const Dims& low, const Dims& high, const Dims& interior = {});
Tensor concatenate(std::span<const Tensor> xs, int64_t dim);

// The elements in reverse order along `dims`.
Tensor reverse(const Tensor& x, const Dims& dims);

// Values along `dim` in ascending or descending order; stable, NaN last.
Tensor sort(const Tensor& x, int64_t dim, bool descending = false);
// Each array in the order that sorts the first. All have one shape.
std::vector<Tensor> sort_together(std::span<const Tensor> xs, int64_t dim, bool descending = false);
struct TopK {
  Tensor values, indices;  // indices: i32
};
// The `k` largest along the last dimension, largest first; among equals the lower index, NaN larger than everything.
TopK top_k(const Tensor& x, int64_t k);

}  // namespace tenon
