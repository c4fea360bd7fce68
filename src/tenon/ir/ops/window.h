// Ops that slide a window: convolution and pooling.
#pragma once

#include "tenon/ir/tensor.h"

namespace tenon {

// One entry for each spatial dimension; empty: 1, or 0 for the padding.
struct ConvDims {
  Dims strides = {};
  Dims low = {}, high = {};  // zeros before and after; negative crops
  Dims lhs_dilation = {};    // of the input: n puts n - 1 zeros between elements (a transposed convolution)
  Dims rhs_dilation = {};    // of the kernel
  int64_t groups = 1;
};
// x [N, spatial…, C] with kernel [spatial…, C / groups, K] -> [N, spatial…, K]; the kernel isn't flipped. Group g of
// the K outputs sees group g of the C inputs. Sums are in f32 or wider.
Tensor convolution(const Tensor& x, const Tensor& kernel, const ConvDims& dims);
// Padding that keeps ceil(size / stride) elements, the odd one after: low and high for `sizes` spatial dimensions.
ConvDims same_padding(ConvDims dims, const Dims& spatial, const Dims& kernel);

// One entry for each dimension of the array; empty: 1, or 0 for the padding.
struct WindowDims {
  Dims size;
  Dims strides = {};
  Dims low = {}, high = {};  // elements before and after that leave the reduction as it is
  Dims dilation = {};
};
// Each window of `x` reduced to one element. f16, bf16 and f8 sums are in f32.
Tensor reduce_window_sum(const Tensor& x, const WindowDims& dims);
// Gradient: shared equally among ties, one slice of `x` for each position in the window.
Tensor reduce_window_max(const Tensor& x, const WindowDims& dims);
Tensor reduce_window_min(const Tensor& x, const WindowDims& dims);

}  // namespace tenon
