// A model that reads one text and writes another.
//
// Letters: B batch, S source tokens, T target tokens, D model, V vocabulary.
#pragma once

#include "tenon/nn/basic/embedding.h"
#include "tenon/nn/language/decoder.h"
#include "tenon/nn/language/head.h"
#include "tenon/nn/language/loss.h"
#include "tenon/nn/position/position_embedding.h"

namespace tenon {

// An encoder of the source, and a decoder that predicts the target's next token and attends to it (Vaswani et al. 2017;
// with a relative attention_bias in both stacks, Raffel et al. 2020). One embedding serves both.
class EncoderDecoder final : public Model {
 public:
  struct Config : Model::Config {
    Required<int64_t> vocab_size, model_dim;
    Slot<Embedding> embedding;
    std::optional<Slot<PositionEmbedding>> position_embedding;  // one each for source and target is made of it
    Slot<Decoder> encoder, decoder;
    Slot<LmHead> head;
    Slot<TokenLoss> loss;
    PartitionSpec activation_partition = {{"data", "expert", "fsdp"}, {"seq"}, {}};
    PartitionSpec logits_partition = {{"data", "expert", "fsdp"}, {"seq"}, {"model"}};
    Config();  // encoder: DecoderLayer with SegmentMask; decoder: CrossDecoderLayer
    void check(Checker& c) const;
    TENON_CONFIG(vocab_size, model_dim, embedding, position_embedding, encoder, decoder, head, loss,
                 activation_partition, logits_partition)
  };
  explicit EncoderDecoder(const Config& config);
  // batch: source_ids, source_segment_ids, source_positions, all i32 [B,S]; input_ids, target_labels (below 0: none),
  // segment_ids, positions, all i32 [B,T]. Target tokens attend to the source tokens of their segment.
  LossSum forward(const Nest& batch) const override;
  // Logits [B,T,V] of a batch, in f32 (f64 when computed so).
  Tensor logits(const Nest& batch) const;
  // What the decoder attends to: source_ids, source_segment_ids, source_positions of a batch, read.
  Memory encode(const Nest& batch) const;
  // For writing targets of up to `max_len` tokens. Each row of the memory is one text: the segment of its first token.
  Nest init_cache(const Memory& memory, int64_t max_len) const;
  // As LanguageModel::extend_step, of the target.
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& ids, const Tensor& start,
                                      const Tensor& last) const;

 private:
  Tensor hidden(const Nest& batch) const;
  PartitionSpec activation_partition_, logits_partition_;
  Child<Embedding> embedding_;
  std::optional<Child<PositionEmbedding>> source_positions_, target_positions_;
  Child<Decoder> encoder_, decoder_;
  Child<LmHead> head_;
  Child<TokenLoss> loss_;
};

}  // namespace tenon
