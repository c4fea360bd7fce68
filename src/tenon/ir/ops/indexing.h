// Ops that read or write at places given by values.
#pragma once

#include <span>
#include <vector>

#include "tenon/ir/tensor.h"

namespace tenon {

// `sizes` elements from the scalar i32 `starts`, clamped so that the slice fits.
Tensor dynamic_slice(const Tensor& x, std::span<const Tensor> starts, const Dims& sizes);
// `x` with `update` written at `starts`, clamped so that it fits.
Tensor dynamic_update_slice(const Tensor& x, const Tensor& update, std::span<const Tensor> starts);
// Element `index` (i32 scalar) of the first dimension.
Tensor dynamic_index(const Tensor& x, const Tensor& index);
Tensor dynamic_update_index(const Tensor& x, const Tensor& update, const Tensor& index);

// Rows of `table` [V, …] by `ids` (i32, any shape, clamped to [0, V)): -> ids.shape + table.shape[1:].
Tensor take(const Tensor& table, const Tensor& ids);
// Zeros [num_rows, …] with `updates` (ids.shape + […]) added at rows `ids`; ids outside are dropped. f16, bf16 and f8
// accumulate in f32.
Tensor scatter_add_rows(const Tensor& ids, const Tensor& updates, int64_t num_rows);
// Along `dim`, the elements at `indices` (i32, clamped), the other coordinates being those of the index: the result has
// the shape of `indices`, which is that of `x` but for `dim`.
Tensor take_along(const Tensor& x, const Tensor& indices, int64_t dim);
// `x` with `updates` added where take_along(x, indices, dim) reads; indices outside are dropped.
Tensor scatter_add_along(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t dim);

// How slices of an operand are laid out in a gathered array (in the updates of a scatter). The last dimension of the
// index array is a vector of starts; its other dimensions say which slice.
struct GatherDims {
  Dims window;         // dimensions of the gathered array that run within a slice, ascending
  Dims collapsed;      // dimensions of the operand, of slice size 1, that it lacks
  Dims operand_batch;  // dimensions of the operand that run along with …
  Dims index_batch;    // … these of the index array
  Dims index_map;      // component i of a start is along dimension index_map[i] of the operand; others start at 0
};
// Slices of `sizes` at `indices` (i32), moved inside where they would reach out.
Tensor gather(const Tensor& x, const Tensor& indices, const GatherDims& dims, const Dims& sizes);
// `x` with slices of `updates` added at `indices`, in no certain order; slices that reach out are dropped. f16, bf16
// and f8 accumulate in f32.
Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& updates, const GatherDims& dims);
// … put in place of what is there; which of several to one element stays is open.
Tensor scatter_set(const Tensor& x, const Tensor& indices, const Tensor& updates, const GatherDims& dims);
// … of which the largest (smallest) of old and new stays. No gradient.
Tensor scatter_max(const Tensor& x, const Tensor& indices, const Tensor& updates, const GatherDims& dims);
Tensor scatter_min(const Tensor& x, const Tensor& indices, const Tensor& updates, const GatherDims& dims);

}  // namespace tenon
