#include "tenon/optim/matrices.h"

#include "tenon/ir/ops.h"

namespace tenon {

namespace {

Tensor contract_both(const Tensor& a, const Tensor& b, int64_t dim, DotPrecision precision) {
  DotDims dims;
  for (int64_t d = 0; d + 2 < a.rank(); ++d) dims.lhs_batch.push_back(d);
  dims.rhs_batch = dims.lhs_batch;
  dims.lhs_contract = dims.rhs_contract = {dim};
  return dot_general(a, b, dims, precision);
}

}  // namespace

Tensor times_transposed(const Tensor& a, const Tensor& b, DotPrecision precision) {
  return contract_both(a, b, a.rank() - 1, precision);
}

Tensor transposed_times(const Tensor& a, const Tensor& b, DotPrecision precision) {
  return contract_both(a, b, a.rank() - 2, precision);
}

Tensor identity_matrices(const TensorType& type) {
  const TensorType index{DType::i32, type.dims};
  return convert(equal(iota(index, type.rank() - 2), iota(index, type.rank() - 1)), type.dtype);
}

Tensor frobenius_norm_keep(const Tensor& x, double least) {
  Dims dims = x.dims();
  dims[dims.size() - 1] = dims[dims.size() - 2] = 1;
  const Tensor norm = reshape(sqrt(reduce_sum(x * x, {-2, -1})), dims);
  return least > 0 ? maximum(norm, full_like(norm, least)) : norm;
}

}  // namespace tenon
