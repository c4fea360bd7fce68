#include "tenon/nn/basic/dropout.h"

#include "tenon/config/checker.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"

namespace tenon {
namespace {

// `scaled` where a draw of `shape` isn't below `rate` (f32 []), else 0.
Tensor drop(const Tensor& scaled, const Dims& shape, const Tensor& rate, std::string_view draw) {
  const Tensor uniform = random_uniform(rng(draw), shape, DType::f32);
  const Tensor keep = broadcast_to(greater_equal(uniform, broadcast_to(rate, shape)), scaled.dims());
  return select(keep, scaled, zeros_like(scaled));
}

Tensor drop(const Tensor& x, const Dims& shape, double rate, std::string_view draw) {
  if (rate == 0 || !is_training()) return x;
  return drop(x * (1 / (1 - rate)), shape, full({DType::f32, {}}, rate), draw);
}

// One element a row.
Dims row_shape(const Tensor& x) {
  Dims shape(x.dims().size(), 1);
  shape.at(0) = x.dim(0);
  return shape;
}

}  // namespace

Tensor dropout(const Tensor& x, double rate, std::string_view draw) { return drop(x, x.dims(), rate, draw); }

Tensor drop_rows(const Tensor& x, double rate, std::string_view draw) { return drop(x, row_shape(x), rate, draw); }

Tensor drop_rows(const Tensor& x, const Tensor& rate, std::string_view draw) {
  if (!is_training()) return x;
  return drop(x * convert(1.0 / (1.0 - rate), x.dtype()), row_shape(x), rate, draw);
}

void check_rate(Checker& c, std::string_view field, double rate) { check_interval(c, field, rate, '[', 0, 1, ')'); }

}  // namespace tenon
