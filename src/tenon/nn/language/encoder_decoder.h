// A model that reads one text and writes another.
//
// Letters: B batch, S source tokens, T target tokens, D model, V vocabulary.
#pragma once

#include "tenon/nn/basic/embedding.h"
#include "tenon/nn/language/decoder.h"
#include "tenon/nn/language/head.h"
#include "tenon/nn/language/language_model.h"
#include "tenon/nn/language/loss.h"
#include "tenon/nn/position/position_embedding.h"

namespace tenon {

// An encoder of the source, and a decoder that predicts the target's next token and attends to it (Vaswani et al. 2017;
// with a relative attention_bias in both stacks, Raffel et al. 2020). One embedding serves both.
class EncoderDecoder final : public LanguageModel {
 public:
  struct Config : LanguageModel::Config {
    Required<int64_t> model_dim;
    Slot<Embedding> embedding;
    std::optional<Slot<PositionEmbedding>> position_embedding;  // one each for source and target is made of it
    Slot<Decoder> encoder, decoder;
    Slot<LmHead> head;
    Slot<TokenLoss> loss;
    PartitionSpec activation_partition = {{"data", "expert", "fsdp"}, {"seq"}, {}};
    PartitionSpec logits_partition = {{"data", "expert", "fsdp"}, {"seq"}, {"model"}};
    Config();  // encoder: DecoderLayer with SegmentMask; decoder: CrossDecoderLayer
    void check(Checker& c) const;
    TENON_CONFIG(model_dim, embedding, position_embedding, encoder, decoder, head, loss, activation_partition,
                 logits_partition)
  };
  explicit EncoderDecoder(const Config& config);
  // batch: source_ids, source_segment_ids, source_positions, all i32 [B,S]; input_ids, target_labels (below 0: none),
  // segment_ids, positions, all i32 [B,T]. Target tokens attend to the source tokens of their segment.
  LossSum forward(const Nest& batch) const override;
  // Logits [B,T,V] of a batch, in f32 (f64 when computed so).
  Tensor logits(const Nest& batch) const;
  std::optional<int64_t> max_length() const override;
  bool reads_source() const override { return true; }
  Nest init_cache(const CacheSizes& sizes) const override;
  Nest read_source(const Nest& cache, const Tensor& ids, const Tensor& lengths) const override;
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& ids, const Tensor& start,
                                      const Tensor& last) const override;

 private:
  // What the decoder attends to: source_ids, source_segment_ids, source_positions of a batch, read.
  Memory encode(const Nest& batch) const;
  Tensor hidden(const Nest& batch) const;
  PartitionSpec activation_partition_, logits_partition_;
  Child<Embedding> embedding_;
  std::optional<Child<PositionEmbedding>> source_positions_, target_positions_;
  Child<Decoder> encoder_, decoder_;
  Child<LmHead> head_;
  Child<TokenLoss> loss_;
};

}  // namespace tenon
