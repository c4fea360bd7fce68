#include "tenon/nn/position/rotary.h"

#include <fmt/format.h>

#include <cmath>

#include "tenon/base/text.h"
#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_MODULE(RotaryQkv, QkvProjection, "rotates queries and keys by position", {"theta", "base of the wavelengths"},
             {"fraction", "of a head's elements that are rotated, the first ones"},
             {"scaling", "how wavelengths are stretched for longer texts; empty: not"},
             {"projection", "what is rotated"})

namespace {

double rotated_share(const RotaryQkv::Config& c) { return c.fraction * static_cast<double>(c.head_dim); }
int64_t rotated_dim(const RotaryQkv::Config& c) { return std::llround(rotated_share(c)); }

// Of `dim` rotated elements, scaled.
RotaryFrequencies frequencies(double theta, int64_t dim, const RotaryScaling& scaling) {
  RotaryFrequencies out{theta, {}, 1};
  for (int64_t i = 0; i < dim / 2; ++i) {
    out.frequencies.push_back(std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(dim)));
  }
  if (!scaling) return out;
  out = scaling(out);
  bool usable = static_cast<int64_t>(out.frequencies.size()) == dim / 2 && std::isfinite(out.magnitude);
  for (const double f : out.frequencies) usable = usable && std::isfinite(f);
  if (usable) return out;
  throw Error(ErrorCode::invalid_argument, "a scaling gives another number of frequencies, or some that aren't finite")
      .at(Context::current().path());
}

// Halves a, b -> a cos - b sin, b cos + a sin, in a form whose gradient is of the same form. x [B,N,T,R]. In the dtype
// of `cosine`: rounding after each step costs more than it saves.
Tensor rotate(const Tensor& x, const Tensor& cosine, const Tensor& signed_sine) {
  const Tensor halves = reshape(convert(x, cosine.dtype()), {x.dim(0), x.dim(1), x.dim(2), 2, x.dim(3) / 2});
  return convert(reshape(halves * cosine + reverse(halves, {3}) * signed_sine, x.dims()), x.dtype());
}

}  // namespace

RotaryQkv::Config::Config() : projection(LinearQkv::Config{}) {}

void RotaryQkv::Config::check(Checker& c) const {
  check_above_zero(c, "theta", theta);
  check_interval(c, "fraction", fraction, '(', 0, 1, ']');
  if (!(fraction > 0 && fraction <= 1)) return;
  if (fraction == 1) {
    c.require(head_dim % 2 == 0, "head_dim", "must be even to be rotated in pairs");
    return;
  }
  const double share = rotated_share(*this);
  c.require(share > 1 && std::fabs(share / 2 - std::round(share / 2)) < 1e-6, "fraction",
            fmt::format("must give an even number of elements of head_dim, {} * {} is {}", format_float(fraction),
                        head_dim.value(), format_float(share)));
}

RotaryQkv::RotaryQkv(const Config& c)
    : QkvProjection(c),
      theta_(c.theta),
      scaling_(c.scaling),
      rotated_dim_(rotated_dim(c)),
      projection_(this, "projection", c.projection, [&](auto& p) { fill_inner(c, p); }) {}

Qkv RotaryQkv::forward(const Tensor& x, const Tensor& positions) const {
  Qkv qkv = projection_(x, positions);
  const int64_t half = rotated_dim_ / 2;
  const DType wide = wide_dtype(qkv.query.dtype());
  const RotaryFrequencies turns = frequencies(theta_, rotated_dim_, scaling_);
  const Tensor frequency = constant(Literal::from(wide, {half}, turns.frequencies));
  const Tensor angle = expand_dims(convert(positions, wide), 2) * frequency;  // [B,T,R/2]
  const auto spread = [&](const Tensor& t) {
    const Tensor sized = turns.magnitude == 1 ? t : t * turns.magnitude;
    return expand_dims(expand_dims(sized, 1), 3);
  };
  const Tensor cosine = spread(cos(angle)), sine = spread(sin(angle));  // [B,1,T,1,R/2]
  const Tensor signed_sine = concatenate(std::vector<Tensor>{neg(sine), sine}, 3);
  const auto rotate_first = [&](const Tensor& t) {
    if (rotated_dim_ == t.dim(3)) return rotate(t, cosine, signed_sine);
    const Tensor first = rotate(slice_dim(t, 3, 0, rotated_dim_), cosine, signed_sine);
    return concatenate(std::vector<Tensor>{first, slice_dim(t, 3, rotated_dim_, t.dim(3))}, 3);
  };
  qkv.query = rotate_first(qkv.query);
  qkv.key = rotate_first(qkv.key);
  return qkv;
}

}  // namespace tenon
