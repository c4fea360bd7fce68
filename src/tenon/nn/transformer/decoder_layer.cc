#include "tenon/nn/transformer/decoder_layer.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_MODULE(DecoderLayer, TransformerLayer, "attention, then a feed-forward, each in its residual",
             {"activation_partition", "mesh axes of the residual stream [B,T,D]"})

DecoderLayer::Config::Config()
    : attention(MultiheadAttention::Config{}),
      feed_forward(GatedFeedForward::Config{}),
      residual(PreNormResidual::Config{}) {}

DecoderLayer::DecoderLayer(const Config& c)
    : TransformerLayer(c),
      activation_partition_(c.activation_partition),
      attention_(this, "attention", c.attention, [&](Attention::Config& a) { a.input_dim = c.input_dim; }),
      feed_forward_(this, "feed_forward", c.feed_forward, [&](FeedForward::Config& f) { f.input_dim = c.input_dim; }),
      attention_residual_(this, "attention_residual", c.residual,
                          [&](Residual::Config& r) { r.input_dim = c.input_dim; }),
      feed_forward_residual_(this, "feed_forward_residual", c.residual,
                             [&](Residual::Config& r) { r.input_dim = c.input_dim; }) {}

Tensor DecoderLayer::feed_forward(const Tensor& x) const {
  const Tensor y = feed_forward_(feed_forward_residual_.call(&Residual::prepare, x));
  return shard(feed_forward_residual_.call(&Residual::merge, x, y), activation_partition_);
}

Tensor DecoderLayer::forward(const Tensor& x, const SequenceInfo& info) const {
  const Tensor y = attention_(attention_residual_.call(&Residual::prepare, x), info);
  return feed_forward(shard(attention_residual_.call(&Residual::merge, x, y), activation_partition_));
}

Nest DecoderLayer::init_cache(const CacheSizes& sizes) const {
  return attention_.call(&Attention::init_cache, sizes.batch_size, sizes.max_len);
}

std::pair<Nest, Tensor> DecoderLayer::extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const {
  auto [next, y] =
      attention_.call(&Attention::extend_step, cache, attention_residual_.call(&Residual::prepare, x), step);
  return {std::move(next), feed_forward(attention_residual_.call(&Residual::merge, x, y))};
}

}  // namespace tenon
