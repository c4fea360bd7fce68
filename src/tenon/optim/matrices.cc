#include "tenon/optim/matrices.h"

#include "tenon/ir/ops.h"

namespace tenon {

Tensor gram(const Tensor& x, int64_t side, DotPrecision precision) {
  DotDims dims;
  for (int64_t d = 0; d + 2 < x.rank(); ++d) dims.lhs_batch.push_back(d);
  dims.rhs_batch = dims.lhs_batch;
  dims.lhs_contract = dims.rhs_contract = {x.rank() - 1 - side};
  return dot_general(x, x, dims, precision);
}

Tensor identity_matrices(const TensorType& type) {
  const TensorType index{DType::i32, type.dims};
  return convert(equal(iota(index, type.rank() - 2), iota(index, type.rank() - 1)), type.dtype);
}

Tensor frobenius_norm_keep(const Tensor& x) {
  Dims dims = x.dims();
  dims[dims.size() - 1] = dims[dims.size() - 2] = 1;
  return reshape(sqrt(reduce_sum(x * x, {-2, -1})), dims);
}

}  // namespace tenon
