#include "tenon/nn/basic/cumulative_sum.h"

#include "tenon/ir/ops.h"

namespace tenon {

Tensor cumulative_sum(const Tensor& x, int64_t dim) {
  const Tensor zero = zeros({x.dtype(), {}});
  const Dims none(x.dims().size(), 0);
  Tensor sums = x;
  for (int64_t shift = 1; shift < x.dim(dim); shift *= 2) {
    Dims low = none, high = none;
    low.at(static_cast<size_t>(dim)) = shift;
    high.at(static_cast<size_t>(dim)) = -shift;
    sums = sums + pad(sums, zero, low, high);
  }
  return sums;
}

}  // namespace tenon
