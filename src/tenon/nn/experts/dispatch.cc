#include "tenon/nn/experts/dispatch.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/experts/grouped_rows.h"

namespace tenon {

TENON_INTERFACE(Dispatch, Module, "how tokens get to their experts and back")

Tensor combine_rows(const Dispatched& d, const Tensor& y, const Tensor& weights) {
  const int64_t B = weights.dim(0), T = weights.dim(1), K = weights.dim(2), D = y.dim(2);
  const Tensor rows = move_rows(y, d.place_of, expand_dims(d.assignment_of, 2));
  const Tensor wide = convert(reshape(rows, {B, T, K, D}), weights.dtype());
  return convert(reduce_sum(wide * expand_dims(weights, 3), {2}), y.dtype());
}

}  // namespace tenon
