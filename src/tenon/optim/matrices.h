// What optimizers of matrices share. Leading dimensions are apart.
#pragma once

#include "tenon/ir/ops/contract.h"

namespace tenon {

// a b^T, [..., M, P], of a [..., M, N] and b [..., P, N].
Tensor times_transposed(const Tensor& a, const Tensor& b, DotPrecision precision = DotPrecision::fast);
// a^T b, [..., M, P], of a [..., N, M] and b [..., N, P].
Tensor transposed_times(const Tensor& a, const Tensor& b, DotPrecision precision = DotPrecision::fast);
// [..., M, M]: ones on the diagonals.
Tensor identity_matrices(const TensorType& type);
// [..., M, N] -> [..., 1, 1], at least `least`.
Tensor frobenius_norm_keep(const Tensor& x, double least = 0);

}  // namespace tenon
