#include "tenon/nn/transformer/parallel_layer.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_MODULE(ParallelLayer, TransformerLayer, "attention and feed-forward of the same input, added",
             {"residual", "of both branches, or of attention"},
             {"feed_forward_residual", "of the feed-forward; empty: both branches share one"},
             {"activation_partition", "mesh axes of the residual stream [B,T,D]"})

ParallelLayer::Config::Config()
    : attention(MultiheadAttention::Config{}),
      feed_forward(GatedFeedForward::Config{}),
      residual(PreNormResidual::Config{}) {}

ParallelLayer::ParallelLayer(const Config& c)
    : TransformerLayer(c),
      activation_partition_(c.activation_partition),
      attention_(this, "attention", c.attention, [&](Attention::Config& a) { a.input_dim = c.input_dim; }),
      feed_forward_(this, "feed_forward", c.feed_forward, [&](FeedForward::Config& f) { f.input_dim = c.input_dim; }),
      residual_(this, "residual", c.residual, [&](Residual::Config& r) { r.input_dim = c.input_dim; }) {
  if (!c.feed_forward_residual) return;
  feed_forward_residual_.emplace(this, "feed_forward_residual", *c.feed_forward_residual,
                                 [&](Residual::Config& r) { r.input_dim = c.input_dim; });
}

Tensor ParallelLayer::join(const Tensor& x, const Tensor& prepared, const Tensor& attended) const {
  if (!feed_forward_residual_) {
    const Tensor both = attended + feed_forward_(prepared);
    return shard(residual_.call(&Residual::merge, x, both), activation_partition_);
  }
  const Tensor changed = feed_forward_(feed_forward_residual_->call(&Residual::prepare, x));
  const Tensor y = residual_.call(&Residual::merge, x, attended);
  return shard(feed_forward_residual_->call(&Residual::merge, y, changed), activation_partition_);
}

Tensor ParallelLayer::forward(const Tensor& x, const SequenceInfo& info) const {
  const Tensor prepared = residual_.call(&Residual::prepare, x);
  return join(x, prepared, attention_(prepared, info));
}

Nest ParallelLayer::init_cache(const CacheSizes& sizes) const {
  return attention_.call(&Attention::init_cache, sizes.batch_size, sizes.max_len);
}

std::pair<Nest, Tensor> ParallelLayer::extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const {
  const Tensor prepared = residual_.call(&Residual::prepare, x);
  auto [next, attended] = attention_.call(&Attention::extend_step, cache, prepared, step);
  return {std::move(next), join(x, prepared, attended)};
}

}  // namespace tenon
