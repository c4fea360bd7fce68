// From queries, keys and values to contexts.
//
// Letters: B batch, T queries, S keys, N heads, K key-value heads, H head dim.
#pragma once

#include <optional>

#include "tenon/nn/attention/attention_bias.h"
#include "tenon/nn/attention/qkv.h"

namespace tenon {

// What attention computes is the interface's; how, an implementation's. One that can't compute a field as it is set
// refuses it when it is built.
class AttentionCore : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> head_dim, num_heads;
    Mask mask;
    std::optional<double> scale;              // of the products of queries and keys; empty: 1 / sqrt(head_dim)
    double logit_cap = 0;                     // above 0: logits x become cap * tanh(x / cap) (Bello et al. 2017)
    std::optional<Slot<AttentionBias>> bias;  // added to the logits
    bool sink = false;                        // a learned logit a head that takes its share and gives nothing
    double dropout = 0;                       // share of weights that are dropped in training
    void check(Checker& c) const;
    TENON_FIELDS(head_dim, num_heads, mask, scale, logit_cap, bias, sink, dropout)
  };
  // query [B,N,T,H], key and value [B,K,S,H] -> [B,N,T,H]: softmax(logits) value over the keys that a query sees, and 0
  // where it sees none. N is a multiple of K: heads share keys in groups.
  virtual Tensor forward(const Qkv& qkv, const MaskArgs& args) const = 0;

 protected:
  explicit AttentionCore(const Config& config);
  // Throws `shape_mismatch`.
  void check_heads(const Qkv& qkv) const;
  double scale() const { return scale_; }
  // The sinks [N] in `dtype`; empty where there are none.
  Tensor sink(DType dtype) const;
  const Mask& mask() const { return mask_; }

 private:
  int64_t head_dim_;
  double scale_;
  Mask mask_;
  std::optional<Param> sink_;
};

// softmax(q k^T / sqrt(H)) v, the softmax in f32 (Vaswani et al. 2017, eq. 1).
class DotProductAttention final : public AttentionCore {
 public:
  struct Config : AttentionCore::Config {
    Config();  // mask: CausalMask
    TENON_CONFIG()
  };
  explicit DotProductAttention(const Config& config);
  Tensor forward(const Qkv& qkv, const MaskArgs& args) const override;

 private:
  double logit_cap_, dropout_;
  std::optional<Child<AttentionBias>> bias_;
};

// The same in blocks of keys, without weights of every query and key in memory: a kernel where the platform has one
// (ir/ops/attention.h). Takes no bias and drops no weights.
class FlashAttention final : public AttentionCore {
 public:
  struct Config : AttentionCore::Config {
    int64_t block_size = 512;
    PartitionSpec partition = {{"data", "expert", "fsdp"}, "model"};
    Config();  // mask: CausalMask
    void check(Checker& c) const;
    TENON_CONFIG(block_size, partition)
  };
  explicit FlashAttention(const Config& config);
  Tensor forward(const Qkv& qkv, const MaskArgs& args) const override;

 private:
  double logit_cap_;
  int64_t block_size_;
  PartitionSpec partition_;
};

}  // namespace tenon
