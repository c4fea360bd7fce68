#pragma once

#include "tenon/nn/decoder_layer.h"
#include "tenon/nn/layers.h"

namespace tenon {

// A stack of layers and a norm behind it.
class Decoder final : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim;
    // Layers in all: a multiple of the pattern's length.
    Required<int64_t> num_layers;
    std::vector<Slot<TransformerLayer>> pattern;
    StackForm form = StackForm::scan;
    Slot<Norm> norm;
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(input_dim, num_layers, pattern, form, norm)
  };
  explicit Decoder(const Config& config);
  Tensor forward(const Tensor& x, const SequenceInfo& info) const;
  Nest init_cache(int64_t batch_size, int64_t max_len) const;
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& x, const Tensor& start) const;

 private:
  Layers<TransformerLayer> layers_;
  Child<Norm> norm_;
};

}  // namespace tenon
