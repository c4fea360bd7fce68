#include "tenon/nn/attention/attention_core.h"

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/basic/dropout.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_INTERFACE(AttentionCore, Module, "from queries, keys and values to contexts",
                {"mask", "which keys a query may see"},
                {"scale", "of the products of queries and keys; empty: 1 / sqrt(head_dim)"},
                {"logit_cap", "above 0: logits x become cap * tanh(x / cap)"}, {"bias", "added to the logits"},
                {"sink", "whether each head has a learned logit that takes a share of the weight and gives nothing"},
                {"dropout", "share of weights that are dropped in training"})
TENON_MODULE(DotProductAttention, AttentionCore, "softmax(q k^T / sqrt(H)) v")

void AttentionCore::Config::check(Checker& c) const {
  check_above_zero(c, "scale", scale);
  check_not_negative(c, "logit_cap", logit_cap);
  check_rate(c, "dropout", dropout);
}

AttentionCore::AttentionCore(const Config& config)
    : Module(config),
      head_dim_(config.head_dim),
      scale_(config.scale.value_or(1 / std::sqrt(static_cast<double>(head_dim_)))),
      mask_(config.mask) {
  if (config.sink) sink_.emplace(this, "sink", Dims{config.num_heads}, ParamSpec{{"model"}, Constant{0}, 0});
}

void AttentionCore::check_heads(const Qkv& qkv) const {
  const Tensor &q = qkv.query, &k = qkv.key;
  if (q.dim(1) % k.dim(1) == 0 && q.dim(3) == head_dim_) return;
  throw Error(ErrorCode::shape_mismatch, "heads don't share keys evenly, or have another size than head_dim")
      .at(Context::current().path())
      .got(to_string(q.type()) + " and " + to_string(k.type()));
}

Tensor AttentionCore::sink(DType dtype) const { return sink_ ? convert(sink_->full(), dtype) : Tensor(); }

DotProductAttention::Config::Config() { mask = CausalMask{}; }

DotProductAttention::DotProductAttention(const Config& config)
    : AttentionCore(config), logit_cap_(config.logit_cap), dropout_(config.dropout) {
  if (config.bias) {
    bias_.emplace(this, "bias", *config.bias, [&](AttentionBias::Config& b) { b.num_heads = config.num_heads; });
  }
}

// Heads of a group are more query rows of their key head, so both products are plain batched ones. The division by the
// softmax's sum comes after the second product: [T,H] elements instead of [T,S].
Tensor DotProductAttention::forward(const Qkv& qkv, const MaskArgs& args) const {
  check_heads(qkv);
  const Tensor &q = qkv.query, &k = qkv.key, &v = qkv.value;
  const int64_t B = q.dim(0), N = q.dim(1), T = q.dim(2), H = q.dim(3), K = k.dim(1), S = k.dim(2);
  const int64_t G = N / K;
  const Tensor rows = reshape(q * scale(), {B, K, G * T, H});
  const DType wide = wide_dtype(q.dtype());
  Tensor logits = reshape(dot_general(rows, k, {{0, 1}, {0, 1}, {3}, {3}}, wide), {B, K, G, T, S});
  if (logit_cap_ > 0) logits = tanh(logits * (1 / logit_cap_)) * logit_cap_;
  if (bias_) logits = logits + reshape(broadcast_to(convert((*bias_)(args), wide), {B, N, T, S}), {B, K, G, T, S});
  const Tensor visible = broadcast_in_dim(mask()(args), logits.dims(), {0, 3, 4});
  const Tensor masked = select(visible, logits, full_like(logits, -1e30));
  Tensor top = max_keep(masked, {-1});
  const Tensor sinks = sink(wide);
  const Tensor taken = sinks ? broadcast_to(reshape(sinks, {K, G, 1, 1}), top.dims()) : Tensor();
  if (taken) top = maximum(top, taken);
  top = stop_gradient(top);
  Tensor weights = select(visible, exp(masked - top), zeros_like(masked));
  Tensor sum = sum_keep(weights, {-1});
  if (taken) sum = sum + exp(taken - top);
  const Tensor nothing = equal(sum, zeros_like(sum));
  sum = reshape(select(nothing, full_like(sum, 1), sum), {B, K, G * T, 1});
  weights = dropout(weights, dropout_, "weights");
  const Tensor numerator =
      dot_general(reshape(convert(weights, q.dtype()), {B, K, G * T, S}), v, {{0, 1}, {0, 1}, {3}, {2}}, wide);
  return reshape(convert(numerator / sum, q.dtype()), {B, N, T, H});
}

}  // namespace tenon
