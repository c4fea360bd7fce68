#pragma once

#include "tenon/nn/attention/attention.h"
#include "tenon/nn/basic/feed_forward.h"
#include "tenon/nn/transformer/residual.h"
#include "tenon/nn/transformer/transformer_layer.h"

namespace tenon {

// Attention, then a feed-forward, each in its residual. With SegmentMask, which looks both ways, the layer of an
// encoder.
class DecoderLayer final : public TransformerLayer {
 public:
  struct Config : TransformerLayer::Config {
    Slot<Attention> attention;
    Slot<FeedForward> feed_forward;
    Slot<Residual> residual;
    // Of the residual stream [B,T,D].
    PartitionSpec activation_partition = {{"data", "expert", "fsdp"}, {"seq"}, {}};
    Config();
    TENON_CONFIG(attention, feed_forward, residual, activation_partition)
  };
  explicit DecoderLayer(const Config& config);
  Tensor forward(const Tensor& x, const SequenceInfo& info) const override;
  Nest init_cache(const CacheSizes& sizes) const override;
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const override;

 private:
  Tensor feed_forward(const Tensor& x) const;
  PartitionSpec activation_partition_;
  Child<Attention> attention_;
  Child<FeedForward> feed_forward_;
  Child<Residual> attention_residual_, feed_forward_residual_;
};

}  // namespace tenon
