#pragma once

#include "tenon/ir/tensor.h"

namespace tenon {

// Sums of the elements up to and with each along `dim`, in the dtype of `x`: log2 of the dimension's size additions, so
// that rounding errors grow as slowly.
Tensor cumulative_sum(const Tensor& x, int64_t dim);

}  // namespace tenon
