#pragma once

#include "tenon/nn/transformer/decoder_layer.h"
#include "tenon/nn/transformer/layers.h"

namespace tenon {

// Texts that a model is trained on, of a batch or a microbatch.
struct TextBatch {
  Tensor ids;  // i32 [B,T]
  SequenceInfo info;
  Tensor labels;  // i32 [B,T]; below 0: none
  TENON_TREE(ids, info, labels)
};

// A stack of layers and a norm behind it.
class Decoder final : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim;
    // Layers in all. Those beyond the last whole pattern are its first ones again, and never in a loop.
    Required<int64_t> num_layers;
    std::vector<Slot<TransformerLayer>> pattern;
    StackForm form = StackForm::scan;
    PipelineConfig pipeline;  // of that form
    Slot<Norm> norm;
    // A bias that layers with SharedBias in their attention share.
    std::optional<Slot<AttentionBias>> attention_bias;
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(input_dim, num_layers, pattern, form, pipeline, norm, attention_bias)
  };
  explicit Decoder(const Config& config);
  Tensor forward(const Tensor& x, const SequenceInfo& info) const;
  // In training, where config.pipeline takes the loss, in the place of forward: the loss of `texts` by a model whose
  // layers these are, with the schedule one_f_one_b. ends.begin gives x, and ends.end, which is given what the last
  // layer gave, calls norm.
  LossSum loss(const TextBatch& texts, const PipelineEnds<Tensor, TextBatch>& ends) const;
  Tensor norm(const Tensor& x) const { return norm_(x); }
  // What extend_step carries; then the same with a memory of `memory_len` tokens in it, which layers with cross
  // attention look at.
  Nest init_cache(const CacheSizes& sizes) const;
  Nest read_memory(const Nest& cache, const Memory& memory) const;
  // The next tokens x [B,T,D] of sequences: equal to those rows of forward.
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const;

 private:
  StackForm form_;
  PipelineConfig pipeline_;
  Layers<TransformerLayer> layers_;
  Child<Norm> norm_;
  std::optional<Child<AttentionBias>> attention_bias_;
};

// A stack of one layer, whose number isn't set yet; and one of layers that look both ways: DecoderLayer with
// SegmentMask.
Decoder::Config stack_of(const Slot<TransformerLayer>& layer);
Decoder::Config encoder_stack();

}  // namespace tenon
