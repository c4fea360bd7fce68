#pragma once

#include "tenon/nn/attention/attention.h"
#include "tenon/nn/transformer/residual.h"
#include "tenon/nn/transformer/transformer_layer.h"

namespace tenon {

// A mixer of tokens in its residual, and no feed-forward: the layer of Mamba models (Gu & Dao 2023, figure 3).
class MixerLayer final : public TransformerLayer {
 public:
  struct Config : TransformerLayer::Config {
    Slot<Attention> mixer;
    Slot<Residual> residual;
    // Of the residual stream [B,T,D].
    PartitionSpec activation_partition = {{"data", "expert", "fsdp"}, {"seq"}, {}};
    Config();
    TENON_CONFIG(mixer, residual, activation_partition)
  };
  explicit MixerLayer(const Config& config);
  Tensor forward(const Tensor& x, const SequenceInfo& info) const override;
  Nest init_cache(const CacheSizes& sizes) const override;
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const override;

 private:
  PartitionSpec activation_partition_;
  Child<Attention> mixer_;
  Child<Residual> residual_;
};

}  // namespace tenon
