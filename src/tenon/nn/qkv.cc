#include <cmath>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/attention.h"

namespace tenon {

TENON_INTERFACE(QkvProjection, Module, "queries, keys and values of attention")
TENON_MODULE(LinearQkv, QkvProjection, "a linear layer each")
TENON_MODULE(RotaryQkv, QkvProjection, "rotates queries and keys by position", {"theta", "base of the wavelengths"},
             {"projection", "what is rotated"})

namespace {

auto dims(int64_t in, int64_t out) {
  return [=](Linear::Config& c) {
    c.input_dim = in;
    c.output_dim = out;
  };
}

// [B,T,N*H] -> [B,N,T,H].
Tensor split_heads(const Tensor& x, int64_t num_heads, int64_t head_dim) {
  return transpose(reshape(x, {x.dim(0), x.dim(1), num_heads, head_dim}), {0, 2, 1, 3});
}

}  // namespace

LinearQkv::Config::Config() : linear(Linear::Config{}) {}

LinearQkv::LinearQkv(const Config& c)
    : QkvProjection(c),
      num_heads_(c.num_heads),
      num_kv_heads_(c.num_kv_heads),
      head_dim_(c.head_dim),
      query_(this, "query", c.linear, dims(c.input_dim, c.num_heads * c.head_dim)),
      key_(this, "key", c.linear, dims(c.input_dim, c.num_kv_heads * c.head_dim)),
      value_(this, "value", c.linear, dims(c.input_dim, c.num_kv_heads * c.head_dim)) {}

Qkv LinearQkv::forward(const Tensor& x, const Tensor&) const {
  return {split_heads(tag(query_(x), "q_proj"), num_heads_, head_dim_),
          split_heads(tag(key_(x), "k_proj"), num_kv_heads_, head_dim_),
          split_heads(tag(value_(x), "v_proj"), num_kv_heads_, head_dim_)};
}

RotaryQkv::Config::Config() : projection(LinearQkv::Config{}) {}

void RotaryQkv::Config::check(Checker& c) const {
  c.require(theta > 0, "theta", "must be above 0");
  c.require(head_dim % 2 == 0, "head_dim", "must be even to be rotated in pairs");
}

RotaryQkv::RotaryQkv(const Config& c)
    : QkvProjection(c),
      theta_(c.theta),
      head_dim_(c.head_dim),
      projection_(this, "projection", c.projection, [&](auto& p) {
        p.input_dim = c.input_dim;
        p.num_heads = c.num_heads;
        p.num_kv_heads = c.num_kv_heads;
        p.head_dim = c.head_dim;
      }) {}

Qkv RotaryQkv::forward(const Tensor& x, const Tensor& positions) const {
  Qkv qkv = projection_(x, positions);
  const int64_t half = head_dim_ / 2;
  const DType dtype = qkv.query.dtype(), wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  std::vector<double> frequencies;
  for (int64_t i = 0; i < half; ++i) {
    frequencies.push_back(std::pow(theta_, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim_)));
  }
  const Tensor frequency = constant(Literal::from(wide, {half}, frequencies));
  const Tensor angle = expand_dims(convert(positions, wide), 2) * frequency;  // [B,T,H/2]
  const auto spread = [&](const Tensor& t) { return expand_dims(expand_dims(t, 1), 3); };
  const Tensor cosine = spread(cos(angle)), sine = spread(sin(angle));  // [B,1,T,1,H/2]
  const Tensor signed_sine = concatenate(std::vector<Tensor>{neg(sine), sine}, 3);
  // Halves a, b -> a cos - b sin, b cos + a sin, in a form whose gradient is of the same form. In f32 at least:
  // rounding after each step costs more than it saves.
  const auto rotate = [&](const Tensor& t) {
    const Tensor halves = reshape(convert(t, wide), {t.dim(0), t.dim(1), t.dim(2), 2, half});
    return convert(reshape(halves * cosine + reverse(halves, {3}) * signed_sine, t.dims()), dtype);
  };
  qkv.query = rotate(qkv.query);
  qkv.key = rotate(qkv.key);
  return qkv;
}

}  // namespace tenon
