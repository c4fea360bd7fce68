// What optimizers of matrices share. Leading dimensions are apart.
#pragma once

#include "tenon/ir/ops/contract.h"

namespace tenon {

// Of x [..., M, N]: x x^T, [..., M, M], for side 0; x^T x, [..., N, N], for side 1.
Tensor gram(const Tensor& x, int64_t side, DotPrecision precision = DotPrecision::fast);
// [..., M, M]: ones on the diagonals.
Tensor identity_matrices(const TensorType& type);
// [..., M, N] -> [..., 1, 1].
Tensor frobenius_norm_keep(const Tensor& x);

}  // namespace tenon
