// Contractions and reductions.
#pragma once

#include "tenon/ir/tensor.h"

namespace tenon {

struct DotDims {
  Dims lhs_batch, rhs_batch, lhs_contract, rhs_contract;
};

// How exactly f32 is multiplied. `fast`: as the device likes it; many GPUs round the operands to TF32, TPUs to bf16.
// `full`: to f32's own precision, by several products where need be. Gradients have their product's. Other dtypes are
// multiplied as they are.
enum class DotPrecision { fast, full };

// Result: batch, then free dimensions of `a`, then of `b`. Operands have one dtype; sums are in f32 or wider and the
// result has `out` (default: the operands' dtype).
Tensor dot_general(const Tensor& a, const Tensor& b, const DotDims& dims, DotPrecision precision = DotPrecision::fast);
Tensor dot_general(const Tensor& a, const Tensor& b, const DotDims& dims, DType out,
                   DotPrecision precision = DotPrecision::fast);
// [..., M, K] x [..., K, N] with equal leading dimensions.
Tensor matmul(const Tensor& a, const Tensor& b, DotPrecision precision = DotPrecision::fast);

// Over `dims` (negative from the end), which disappear. f16, bf16 and f8 accumulate in f32.
Tensor reduce_sum(const Tensor& x, Dims dims);
Tensor reduce_max(const Tensor& x, Dims dims);  // gradient: shared equally among ties
Tensor reduce_min(const Tensor& x, Dims dims);
Tensor reduce_prod(const Tensor& x, Dims dims);  // no gradient
Tensor reduce_and(const Tensor& x, Dims dims);   // i1
Tensor reduce_or(const Tensor& x, Dims dims);    // i1
// The reduced dimensions stay, with size 1.
Tensor sum_keep(const Tensor& x, Dims dims);
Tensor max_keep(const Tensor& x, Dims dims);
Tensor mean(const Tensor& x, Dims dims);
Tensor mean_keep(const Tensor& x, Dims dims);
// Over the last dimension, from the largest element down, so that nothing overflows: log(softmax(x)); and
// log(sum(exp(x))), of size 1 there.
Tensor log_softmax(const Tensor& x);
Tensor log_sum_exp_keep(const Tensor& x);
// All elements.
Tensor sum_all(const Tensor& x);
// Index (i32) of the largest element along `dim`, the first of equals; NaN is larger than everything.
Tensor argmax(const Tensor& x, int64_t dim);

}  // namespace tenon
