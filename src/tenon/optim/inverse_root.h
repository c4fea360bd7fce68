// Inverse roots of symmetric matrices.
#pragma once

#include "tenon/ir/tensor.h"

namespace tenon {

// [..., M, M] f32 or wider, symmetric and positive semidefinite: each matrix A to (A / |A| + ridge I)^(-1/p), with |A|
// the Frobenius norm, p of 2 or 4 and ridge in (0, 1). A matrix of zeros gives a multiple of the identity. By the
// coupled Newton iteration (Higham 2008, "Functions of Matrices", section 7.3), which needs products alone:
//   T = ((p + 1) I - M) / p     M = T^p M     H = H T,     from M = z A, H = z^(1/p) I
// as often as the smallest eigenvalue, ridge, needs to come to 1. Products have DotPrecision::full: with less the
// iteration diverges. In f32 elements are within 0.01 of the root's norm at a ridge of 1e-6, and 1e-4 at 1e-3 (tested).
Tensor inverse_root(const Tensor& a, int64_t p, double ridge);

}  // namespace tenon
