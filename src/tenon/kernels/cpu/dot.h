// Products of matrices with the instructions of AVX-512, where the compiler's own are slower.
#pragma once

#include <cstdint>

#include "tenon/kernels/cpu/attention.h"
#include "tenon/kernels/cpu/parallel.h"

namespace tenon {

struct DotShape {
  int64_t M, N, K;
  bool lhs_by_depth;  // lhs is [K,M], not [M,K]
  bool rhs_by_depth;  // rhs is [K,N], not [N,K]
  Element operands, result;
};

// Row-major; `result` is [M,N]. `scratch` has dot_scratch_words(shape) words.
struct DotArrays {
  const void *lhs, *rhs;
  void* result;
  uint32_t* scratch;
};

// Words of 32 bits that a product needs to put its operands in order.
int64_t dot_scratch_words(const DotShape& shape);

// Whether this machine has the instructions: AVX512-BF16, and with it the older parts of AVX-512.
bool has_dot();

// result = sum over K of lhs and rhs. Sums are in f32. Of bf16, pairs of neighbours along K are added first, and what
// is below the normal range counts as zero: so the instruction has it. NaN and infinity are as in f32. The same numbers
// whatever the number of workers. K must be above 0. Needs has_dot().
void dot(const DotShape& shape, const DotArrays& arrays, const Workers& workers);

}  // namespace tenon
