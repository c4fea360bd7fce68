#include "tenon/nn/vision/batch_norm.h"

#include <fmt/format.h>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_MODULE(BatchNorm, Norm, "each channel by its moments over the batch, outside training by their running means",
             {"eps", "keeps the root away from zero"},
             {"momentum", "what the running means keep of themselves at each step"},
             {"initial_scale", "of the parameter; 0 makes a branch start as nothing"})

void BatchNorm::Config::check(Checker& c) const {
  c.positive("input_dim", input_dim);
  check_above_zero(c, "eps", eps);
  check_interval(c, "momentum", momentum, '[', 0, 1, ')');
  check_finite(c, "initial_scale", initial_scale);
}

BatchNorm::BatchNorm(const Config& config)
    : Norm(config),
      input_dim_(config.input_dim),
      eps_(config.eps),
      momentum_(config.momentum),
      scale_(this, "scale", {config.input_dim}, {{}, Constant{config.initial_scale}, 0}),
      bias_(this, "bias", {config.input_dim}, {{}, Constant{0}, 0}),
      mean_(this, "mean", {config.input_dim}),
      variance_(this, "variance", {config.input_dim}, StateSource::forward, 1) {}

BatchNorm::Moments BatchNorm::moments(const Tensor& x) const {
  if (!is_training()) return {convert(mean_, x.dtype()), convert(variance_, x.dtype())};
  Dims dims;
  int64_t count = 1;
  for (int64_t d = 0; d < x.rank() - 1; ++d) {
    dims.push_back(d);
    count *= x.dim(d);
  }
  if (count < 2) {
    throw Error(ErrorCode::shape_mismatch, "the moments of a batch with one element a channel")
        .at(Context::current().path())
        .got(to_string(x.type()))
        .hint("train on more examples at a time: raise batch_size, or lower accumulation");
  }
  const Tensor mean = tenon::mean(x, dims), centered = x - mean;
  const Tensor variance = tenon::mean(centered * centered, dims);
  const auto keep = [&](const State& state, const Tensor& now) {
    state.update(Tensor(state) * momentum_ + convert(now, DType::f32) * (1 - momentum_));
  };
  keep(mean_, mean);
  keep(variance_, variance * (static_cast<double>(count) / static_cast<double>(count - 1)));
  return {mean, variance};
}

Tensor BatchNorm::forward(const Tensor& x) const {
  if (x.rank() < 2 || x.dim(-1) != input_dim_) {
    throw Error(ErrorCode::shape_mismatch, "the last dimension of the input isn't input_dim")
        .at(Context::current().path())
        .got(to_string(x.type()))
        .expected(fmt::format("[B, …, {}]", input_dim_));
  }
  const Tensor y = widen(x);
  const auto [mean, variance] = moments(y);
  const Tensor scale = convert(scale_.full(), y.dtype()) * rsqrt(variance + eps_);
  return convert((y - mean) * scale + convert(bias_.full(), y.dtype()), x.dtype());
}

}  // namespace tenon
