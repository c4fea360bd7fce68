#include "tenon/nn/norm.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_INTERFACE(Norm, Module, "normalizes the last dimension")
TENON_MODULE(RMSNorm, Norm, "x / sqrt(mean(x^2) + eps) * scale", {"eps", "keeps the root away from zero"})

void RMSNorm::Config::check(Checker& c) const {
  c.positive("input_dim", input_dim);
  c.require(eps > 0, "eps", "must be above 0");
}

RMSNorm::RMSNorm(const Config& config)
    : Norm(config), eps_(config.eps), scale_(this, "scale", {config.input_dim}, {{}, Constant{1}, 0}) {}

Tensor RMSNorm::forward(const Tensor& x) const {
  const Tensor wide = convert(x, x.dtype() == DType::f64 ? DType::f64 : DType::f32);
  const Tensor square = reshape(mean(wide * wide, {-1}), [&] {
    Dims shape = x.dims();
    shape.back() = 1;
    return shape;
  }());
  return convert(wide * rsqrt(square + eps_) * convert(scale_.full(), wide.dtype()), x.dtype());
}

}  // namespace tenon
