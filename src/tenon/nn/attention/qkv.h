// Queries, keys and values of attention.
//
// Letters: B batch, T tokens, D model, N heads, K key-value heads, H head dim.
#pragma once

#include "tenon/nn/basic/linear.h"
#include "tenon/nn/basic/norm.h"

namespace tenon {

struct Qkv {
  Tensor query;       // [B,N,T,H]
  Tensor key, value;  // [B,K,T,H]
};

// [B,T,N*H] -> [B,N,T,H].
Tensor split_heads(const Tensor& x, int64_t num_heads, int64_t head_dim);

class QkvProjection : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim, num_heads, num_kv_heads, head_dim;
    TENON_FIELDS(input_dim, num_heads, num_kv_heads, head_dim)
  };
  // x [B,T,D], positions i32 [B,T].
  virtual Qkv forward(const Tensor& x, const Tensor& positions) const = 0;

 protected:
  explicit QkvProjection(const Config& config) : Module(config) {}
};

// Three linear layers.
class LinearQkv final : public QkvProjection {
 public:
  struct Config : QkvProjection::Config {
    Slot<Linear> linear;
    Config();
    TENON_CONFIG(linear)
  };
  explicit LinearQkv(const Config& config);
  Qkv forward(const Tensor& x, const Tensor& positions) const override;

 private:
  int64_t num_heads_, num_kv_heads_, head_dim_;
  Child<Linear> query_, key_, value_;
};

// Normalizes each head of another projection's queries and keys, so that logits stay small (Henry et al. 2020). Goes
// inside RotaryQkv: rotations keep lengths, scales of a norm don't keep angles.
class NormedQkv final : public QkvProjection {
 public:
  struct Config : QkvProjection::Config {
    Slot<Norm> norm;
    Slot<QkvProjection> projection;
    Config();  // norm: RMSNorm, projection: LinearQkv
    TENON_CONFIG(norm, projection)
  };
  explicit NormedQkv(const Config& config);
  Qkv forward(const Tensor& x, const Tensor& positions) const override;

 private:
  Child<QkvProjection> projection_;
  Child<Norm> query_norm_, key_norm_;
};

// What a projection tells the one inside it.
void fill_inner(const QkvProjection::Config& outer, QkvProjection::Config& inner);

}  // namespace tenon
