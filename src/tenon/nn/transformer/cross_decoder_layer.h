#pragma once

#include "tenon/nn/attention/attention.h"
#include "tenon/nn/attention/cross_attention.h"
#include "tenon/nn/basic/feed_forward.h"
#include "tenon/nn/transformer/residual.h"
#include "tenon/nn/transformer/transformer_layer.h"

namespace tenon {

// Attention, attention to the memory, a feed-forward, each in its residual (Vaswani et al. 2017, section 3.1).
class CrossDecoderLayer final : public TransformerLayer {
 public:
  struct Config : TransformerLayer::Config {
    Slot<Attention> attention;
    Slot<CrossAttention> cross_attention;
    Slot<FeedForward> feed_forward;
    Slot<Residual> residual;
    // Of the residual stream [B,T,D].
    PartitionSpec activation_partition = {{"data", "expert", "fsdp"}, {"seq"}, {}};
    Config();
    TENON_CONFIG(attention, cross_attention, feed_forward, residual, activation_partition)
  };
  explicit CrossDecoderLayer(const Config& config);
  Tensor forward(const Tensor& x, const SequenceInfo& info) const override;
  Nest init_cache(const CacheSizes& sizes) const override;
  Nest read_memory(const Nest& cache, const Memory& memory) const override;
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const override;

 private:
  // branch(x) in its residual.
  template <class F>
  Tensor in(const Child<Residual>& residual, const Tensor& x, F branch) const;
  PartitionSpec activation_partition_;
  Child<Attention> attention_;
  Child<CrossAttention> cross_attention_;
  Child<FeedForward> feed_forward_;
  Child<Residual> attention_residual_, cross_attention_residual_, feed_forward_residual_;
};

}  // namespace tenon
