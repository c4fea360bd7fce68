// Products of large matrices on the CPU.
#pragma once

#include <cstdint>

#include "tenon/kernels/cpu/parallel.h"

namespace tenon {

// C [M,N] = A [M,K] B [K,N], row-major; a transposed operand is stored the other way round.
struct MatmulShape {
  int64_t M, N, K;
  bool a_transposed, b_transposed;
};

// In f32. The same numbers whatever the number of workers.
void matmul(const MatmulShape& shape, const float* a, const float* b, float* c, const Workers& workers);

}  // namespace tenon
