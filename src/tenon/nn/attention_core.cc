#include <cmath>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/attention.h"

namespace tenon {

TENON_INTERFACE(AttentionCore, Module, "from queries, keys and values to contexts",
                {"mask", "which keys a query may see"})
TENON_MODULE(DotProductAttention, AttentionCore, "softmax(q k^T / sqrt(H)) v")

DotProductAttention::Config::Config() { mask = CausalMask{}; }

DotProductAttention::DotProductAttention(const Config& config)
    : AttentionCore(config), head_dim_(config.head_dim), mask_(config.mask) {}

// Heads of a group are more query rows of their key head, so both products are plain batched ones. The division by the
// softmax's sum comes after the second product: [T,H] elements instead of [T,S].
Tensor DotProductAttention::forward(const Qkv& qkv, const MaskArgs& mask) const {
  const Tensor &q = qkv.query, &k = qkv.key, &v = qkv.value;
  const int64_t B = q.dim(0), N = q.dim(1), T = q.dim(2), H = q.dim(3), K = k.dim(1), S = k.dim(2);
  if (N % K != 0 || H != head_dim_) {
    throw Error(ErrorCode::shape_mismatch, "heads don't share keys evenly, or have another size than head_dim")
        .at(Context::current().path())
        .got(to_string(q.type()) + " and " + to_string(k.type()));
  }
  const int64_t G = N / K;
  const Tensor scaled = q * (1.0 / std::sqrt(static_cast<double>(H)));
  const Tensor rows = reshape(scaled, {B, K, G * T, H});
  const DType wide = q.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Tensor logits = reshape(dot_general(rows, k, {{0, 1}, {0, 1}, {3}, {3}}, wide), {B, K, G, T, S});
  const Tensor visible = broadcast_in_dim(mask_(mask), logits.dims(), {0, 3, 4});
  const Tensor masked = select(visible, logits, full_like(logits, -1e30));
  const Tensor weights = exp(masked - stop_gradient(max_keep(masked, {-1})));
  const Tensor sum = reshape(reduce_sum(weights, {-1}), {B, K, G * T, 1});
  const Tensor numerator =
      dot_general(reshape(convert(weights, q.dtype()), {B, K, G * T, S}), v, {{0, 1}, {0, 1}, {3}, {2}}, wide);
  return reshape(convert(numerator / sum, q.dtype()), {B, N, T, H});
}

}  // namespace tenon
