#pragma once

#include "tenon/nn/basic/embedding.h"
#include "tenon/nn/language/decoder.h"
#include "tenon/nn/language/head.h"
#include "tenon/nn/language/language_model.h"
#include "tenon/nn/language/loss.h"
#include "tenon/nn/position/position_embedding.h"
#include "tenon/nn/position/token_order.h"

namespace tenon {

// Embedding, decoder, head; predicts the next token.
class CausalLm final : public LanguageModel {
 public:
  struct Config : LanguageModel::Config {
    Required<int64_t> model_dim;
    Slot<Embedding> embedding;
    std::optional<Slot<PositionEmbedding>> position_embedding;  // added to the embedding
    Slot<Decoder> decoder;
    Slot<LmHead> head;
    Slot<TokenLoss> loss;
    // False: a row of the batch is one text, whatever its segment_ids and positions say.
    bool separate_documents = true;
    // Logits are made and used in so many pieces along T, each computed again in the backward pass.
    int64_t loss_chunks = 1;
    // Of the tokens of a row over the devices along `seq`, in training and evaluation.
    TokenOrder token_order = TokenOrder::as_read;
    PartitionSpec activation_partition = {{"data", "expert", "fsdp"}, {"seq"}, {}};
    PartitionSpec logits_partition = {{"data", "expert", "fsdp"}, {"seq"}, {"model"}};
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(model_dim, embedding, position_embedding, decoder, head, loss, separate_documents, loss_chunks,
                 token_order, activation_partition, logits_partition)
  };
  explicit CausalLm(const Config& config);
  // batch: input_ids, target_labels (below 0: none), segment_ids, positions, all i32 [B,T].
  LossSum forward(const Nest& batch) const override;
  // Logits [B,T,V] of a batch, in f32 (f64 when computed so).
  Tensor logits(const Nest& batch) const;
  // The steps of `forward`: hidden states [B,T,D] of a batch, logits [B,T,V] of such, the loss of these.
  Tensor hidden_states(const Nest& batch) const;
  Tensor hidden_logits(const Tensor& x) const;
  LossSum token_loss(const Tensor& logits, const Tensor& labels) const { return loss_(logits, labels); }
  std::optional<int64_t> max_length() const override;
  Nest init_cache(const CacheSizes& sizes) const override;
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& ids, const Tensor& start,
                                      const Tensor& last) const override;

 private:
  Tensor embed(const Tensor& ids, const SequenceInfo& info) const;
  Tensor hidden(const Tensor& ids, const SequenceInfo& info) const;
  LossSum hidden_loss(const Tensor& x, const Tensor& labels) const;
  // The same loss where layers are trained together with it (PipelineConfig::takes_loss).
  LossSum pipelined_loss(const TextBatch& texts) const;
  SequenceInfo sequence_info(const Nest& batch) const;
  std::optional<PipelineConfig> pipeline_;  // of layers of that form
  bool separate_documents_;
  int64_t loss_chunks_;
  TokenOrder token_order_;
  PartitionSpec activation_partition_, logits_partition_;
  Child<Embedding> embedding_;
  std::optional<Child<PositionEmbedding>> position_embedding_;
  Child<Decoder> decoder_;
  Child<LmHead> head_;
  Child<TokenLoss> loss_;
};

}  // namespace tenon
