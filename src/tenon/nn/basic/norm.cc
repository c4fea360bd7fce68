#include "tenon/nn/basic/norm.h"

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_INTERFACE(Norm, Module, "normalizes the last dimension")
TENON_MODULE(RMSNorm, Norm, "x / sqrt(mean(x^2) + eps) * scale", {"eps", "keeps the root away from zero"},
             {"zero_centered", "whether the parameter is scale - 1"})
TENON_MODULE(LayerNorm, Norm, "x less its mean, divided by its deviation, * scale + bias; Ba et al. 2016",
             {"eps", "keeps the root away from zero"}, {"bias", "whether bias is added"})
TENON_MODULE(NoNorm, Norm, "x itself")

namespace {

void check_norm(Checker& c, const Norm::Config& config, double eps) {
  c.positive("input_dim", config.input_dim);
  check_above_zero(c, "eps", eps);
}

}  // namespace

void RMSNorm::Config::check(Checker& c) const { check_norm(c, *this, eps); }

RMSNorm::RMSNorm(const Config& config)
    : Norm(config),
      eps_(config.eps),
      zero_centered_(config.zero_centered),
      scale_(this, "scale", {config.input_dim}, {{}, Constant{config.zero_centered ? 0.0 : 1.0}, 0}) {}

Tensor RMSNorm::forward(const Tensor& x) const {
  const Tensor y = widen(x);
  const Tensor scale = convert(scale_.full(), y.dtype());
  return convert(y * rsqrt(mean_keep(y * y, {-1}) + eps_) * (zero_centered_ ? scale + 1.0 : scale), x.dtype());
}

void LayerNorm::Config::check(Checker& c) const { check_norm(c, *this, eps); }

LayerNorm::LayerNorm(const Config& config)
    : Norm(config), eps_(config.eps), scale_(this, "scale", {config.input_dim}, {{}, Constant{1}, 0}) {
  if (config.bias) bias_.emplace(this, "bias", Dims{config.input_dim}, ParamSpec{{}, Constant{0}, 0});
}

Tensor LayerNorm::forward(const Tensor& x) const {
  const Tensor y = widen(x), centered = y - mean_keep(y, {-1});
  const Tensor unit = centered * rsqrt(mean_keep(centered * centered, {-1}) + eps_) * convert(scale_.full(), y.dtype());
  return convert(bias_ ? unit + convert(bias_->full(), y.dtype()) : unit, x.dtype());
}

}  // namespace tenon
