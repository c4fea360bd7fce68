// One layer of a stack, with state for decoding.
//
// Letters: B batch, T tokens, D model.
#pragma once

#include <utility>

#include "tenon/nn/module.h"
#include "tenon/nn/transformer/sequence.h"

namespace tenon {

class TransformerLayer : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim;
    TENON_FIELDS(input_dim)
  };
  // x [B,T,D] -> [B,T,D].
  virtual Tensor forward(const Tensor& x, const SequenceInfo& info) const = 0;
  // What extend_step carries, of the same types for all layers of one config.
  virtual Nest init_cache(const CacheSizes& sizes) const = 0;
  // The cache with what the layer needs of a memory; layers that look at none keep it as it is.
  virtual Nest read_memory(const Nest& cache, const Memory& memory) const;
  // The next tokens x [B,T,D] of sequences: equal to those rows of forward.
  virtual std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const = 0;

 protected:
  explicit TransformerLayer(const Config& config) : Module(config) {}
};

}  // namespace tenon
