// Attention, with a seam at every part: projection, core, mask, bias, cache.
//
// Letters: B batch, T queries, D model.
#pragma once

#include <optional>
#include <utility>

#include "tenon/nn/attention/attention_core.h"
#include "tenon/nn/attention/kv_cache.h"
#include "tenon/nn/position/rotary.h"

namespace tenon {

class Attention : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim;
    TENON_FIELDS(input_dim)
  };
  // x [B,T,D] -> [B,T,D].
  virtual Tensor forward(const Tensor& x, const SequenceInfo& info) const = 0;
  // What extend_step carries, for sequences of up to `max_len` tokens.
  virtual Nest init_cache(int64_t batch_size, int64_t max_len) const = 0;
  // The next tokens x [B,T,D] of sequences: equal to those rows of forward.
  virtual std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const = 0;

 protected:
  explicit Attention(const Config& config) : Module(config) {}
};

class MultiheadAttention final : public Attention {
 public:
  struct Config : Attention::Config {
    Required<int64_t> num_heads;
    std::optional<int64_t> num_kv_heads;  // empty: num_heads; 1: multi-query attention (Shazeer 2019)
    std::optional<int64_t> head_dim;      // empty: input_dim / num_heads
    Slot<QkvProjection> qkv;
    Slot<AttentionCore> core;
    Slot<KvCache> kv_cache;
    Slot<Linear> output;
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(num_heads, num_kv_heads, head_dim, qkv, core, kv_cache, output)
  };
  explicit MultiheadAttention(const Config& config);
  Tensor forward(const Tensor& x, const SequenceInfo& info) const override;
  Nest init_cache(int64_t batch_size, int64_t max_len) const override;
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const override;

 private:
  Tensor project_output(const Tensor& context) const;
  int64_t num_kv_heads_, head_dim_;
  Child<QkvProjection> qkv_;
  Child<AttentionCore> core_;
  Child<KvCache> kv_cache_;
  Child<Linear> output_;
};

// [B,N,T,H] -> [B,T,N*H].
Tensor join_heads(const Tensor& x);
// The linear layer behind the heads.
Linear::Config output_linear();

}  // namespace tenon
