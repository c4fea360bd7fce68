#include "tenon/nn/transformer/mixer_layer.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/state_space/mamba2.h"

namespace tenon {

TENON_MODULE(MixerLayer, TransformerLayer, "a mixer of tokens in its residual, and no feed-forward",
             {"mixer", "Mamba2, or attention"}, {"activation_partition", "mesh axes of the residual stream [B,T,D]"})

MixerLayer::Config::Config() : mixer(Mamba2::Config{}), residual(PreNormResidual::Config{}) {}

MixerLayer::MixerLayer(const Config& c)
    : TransformerLayer(c),
      activation_partition_(c.activation_partition),
      mixer_(this, "mixer", c.mixer, [&](Attention::Config& a) { a.input_dim = c.input_dim; }),
      residual_(this, "residual", c.residual, [&](Residual::Config& r) { r.input_dim = c.input_dim; }) {}

Tensor MixerLayer::forward(const Tensor& x, const SequenceInfo& info) const {
  const Tensor y = mixer_(residual_.call(&Residual::prepare, x), info);
  return shard(residual_.call(&Residual::merge, x, y), activation_partition_);
}

Nest MixerLayer::init_cache(const CacheSizes& sizes) const {
  return mixer_.call(&Attention::init_cache, sizes.batch_size, sizes.max_len);
}

std::pair<Nest, Tensor> MixerLayer::extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const {
  auto [next, y] = mixer_.call(&Attention::extend_step, cache, residual_.call(&Residual::prepare, x), step);
  return {std::move(next), residual_.call(&Residual::merge, x, y)};
}

}  // namespace tenon
