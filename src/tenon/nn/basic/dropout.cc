#include "tenon/nn/basic/dropout.h"

#include "tenon/config/checker.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"

namespace tenon {
namespace {

Tensor drop(const Tensor& x, const Dims& shape, double rate, std::string_view draw) {
  if (rate == 0 || !is_training()) return x;
  const Tensor uniform = random_uniform(rng(draw), shape, DType::f32);
  const Tensor keep = broadcast_to(greater_equal(uniform, full_like(uniform, rate)), x.dims());
  return select(keep, x * (1 / (1 - rate)), zeros_like(x));
}

}  // namespace

Tensor dropout(const Tensor& x, double rate, std::string_view draw) { return drop(x, x.dims(), rate, draw); }

Tensor drop_rows(const Tensor& x, double rate, std::string_view draw) {
  Dims shape(x.dims().size(), 1);
  shape.at(0) = x.dim(0);
  return drop(x, shape, rate, draw);
}

void check_rate(Checker& c, std::string_view field, double rate) {
  c.require(rate >= 0 && rate < 1, field, "must be 0 or above, and below 1");
}

}  // namespace tenon
