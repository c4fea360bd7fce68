#pragma once

#include <optional>

#include "tenon/nn/attention/attention.h"
#include "tenon/nn/basic/feed_forward.h"
#include "tenon/nn/transformer/residual.h"
#include "tenon/nn/transformer/transformer_layer.h"

namespace tenon {

// Attention and feed-forward of the same input, added: x + attention(norm(x)) + feed_forward(norm(x)) (Wang &
// Komatsuzaki 2021; Chowdhery et al. 2022). With a feed_forward_residual the branches have a norm each: x +
// attention(norm_1(x)) + feed_forward(norm_2(x)) (Black et al. 2022).
class ParallelLayer final : public TransformerLayer {
 public:
  struct Config : TransformerLayer::Config {
    Slot<Attention> attention;
    Slot<FeedForward> feed_forward;
    Slot<Residual> residual;                              // of both branches, or of attention
    std::optional<Slot<Residual>> feed_forward_residual;  // empty: both share one
    // Of the residual stream [B,T,D].
    PartitionSpec activation_partition = {{"data", "expert", "fsdp"}, {"seq"}, {}};
    Config();
    TENON_CONFIG(attention, feed_forward, residual, feed_forward_residual, activation_partition)
  };
  explicit ParallelLayer(const Config& config);
  Tensor forward(const Tensor& x, const SequenceInfo& info) const override;
  Nest init_cache(const CacheSizes& sizes) const override;
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const override;

 private:
  // Of x, what the residual made of it, and attention's output for that.
  Tensor join(const Tensor& x, const Tensor& prepared, const Tensor& attended) const;
  PartitionSpec activation_partition_;
  Child<Attention> attention_;
  Child<FeedForward> feed_forward_;
  Child<Residual> residual_;
  std::optional<Child<Residual>> feed_forward_residual_;
};

}  // namespace tenon
