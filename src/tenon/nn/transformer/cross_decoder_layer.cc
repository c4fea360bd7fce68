#include "tenon/nn/transformer/cross_decoder_layer.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/transformer/layers.h"

namespace tenon {

TENON_MODULE(CrossDecoderLayer, TransformerLayer,
             "attention, attention to the memory, a feed-forward, each in its residual",
             {"activation_partition", "mesh axes of the residual stream [B,T,D]"})

namespace {

auto dim_of(const TransformerLayer::Config& c) {
  return [dim = c.input_dim](auto& part) { part.input_dim = dim; };
}

}  // namespace

CrossDecoderLayer::Config::Config()
    : attention(MultiheadAttention::Config{}),
      cross_attention(CrossAttention::Config{}),
      feed_forward(GatedFeedForward::Config{}),
      residual(PreNormResidual::Config{}) {}

CrossDecoderLayer::CrossDecoderLayer(const Config& c)
    : TransformerLayer(c),
      activation_partition_(c.activation_partition),
      attention_(this, "attention", c.attention, dim_of(c)),
      cross_attention_(this, "cross_attention", c.cross_attention, dim_of(c)),
      feed_forward_(this, "feed_forward", c.feed_forward, dim_of(c)),
      attention_residual_(this, "attention_residual", c.residual, dim_of(c)),
      cross_attention_residual_(this, "cross_attention_residual", c.residual, dim_of(c)),
      feed_forward_residual_(this, "feed_forward_residual", c.residual, dim_of(c)) {}

template <class F>
Tensor CrossDecoderLayer::in(const Child<Residual>& residual, const Tensor& x, F branch) const {
  const Tensor y = branch(residual.call(&Residual::prepare, x));
  return shard(residual.call(&Residual::merge, x, y), activation_partition_);
}

Tensor CrossDecoderLayer::forward(const Tensor& x, const SequenceInfo& info) const {
  const Tensor a = in(attention_residual_, x, [&](const Tensor& h) { return attention_(h, info); });
  const Tensor b = in(cross_attention_residual_, a, [&](const Tensor& h) { return cross_attention_(h, info); });
  return in(feed_forward_residual_, b, [&](const Tensor& h) { return feed_forward_(h); });
}

Nest CrossDecoderLayer::init_cache(const CacheSizes& sizes) const {
  Nest out;
  add_with_prefix(out, "attention.", attention_.call(&Attention::init_cache, sizes.batch_size, sizes.max_len));
  add_with_prefix(out, "memory.",
                  cross_attention_.call(&CrossAttention::init_cache, sizes.batch_size, sizes.memory_len));
  return out;
}

Nest CrossDecoderLayer::read_memory(const Nest& cache, const Memory& memory) const {
  Nest out = cache;
  add_with_prefix(out, "memory.", cross_attention_.call(&CrossAttention::read_memory, memory));
  return out;
}

std::pair<Nest, Tensor> CrossDecoderLayer::extend_step(const Nest& cache, const Tensor& x,
                                                       const DecodeStep& step) const {
  Nest next = cache;
  const Tensor a = in(attention_residual_, x, [&](const Tensor& h) {
    auto [own, y] = attention_.call(&Attention::extend_step, sub_nest(cache, "attention."), h, step);
    add_with_prefix(next, "attention.", own);
    return y;
  });
  const Nest memory = sub_nest(cache, "memory.");
  const Tensor b = in(cross_attention_residual_, a, [&](const Tensor& h) {
    return cross_attention_.call(&CrossAttention::extend_step, memory, h, step);
  });
  return {std::move(next), in(feed_forward_residual_, b, [&](const Tensor& h) { return feed_forward_(h); })};
}

}  // namespace tenon
