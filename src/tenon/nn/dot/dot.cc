#include "tenon/nn/dot/dot.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_INTERFACE(Dot, Module, "the contraction of a linear layer", {"input_dim", "dimension contracted"},
                {"output_dim", "dimension of the result"},
                {"weight_partition", "mesh axes of input and output dimension"})
TENON_MODULE(PlainDot, Dot, "a matrix product in the operands' dtype")

Tensor fold_rows(const Tensor& x) { return reshape(x, {-1, x.dim(-1)}); }

Tensor unfold_rows(const Tensor& y, const Tensor& x) {
  Dims shape = x.dims();
  shape.back() = y.dim(1);
  return reshape(y, shape);
}

Tensor PlainDot::forward(const Tensor& x, const Tensor& weight) const {
  return unfold_rows(matmul(fold_rows(x), weight), x);
}

}  // namespace tenon
