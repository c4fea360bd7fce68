// A model that fills gaps in a text.
#pragma once

#include <optional>
#include <vector>

#include "tenon/nn/basic/embedding.h"
#include "tenon/nn/language/decoder.h"
#include "tenon/nn/language/head.h"
#include "tenon/nn/language/loss.h"
#include "tenon/nn/position/position_embedding.h"

namespace tenon {

// Predicts tokens that are hidden from it (Devlin et al. 2019, section 3.1): of the tokens of a text each is chosen
// with probability mask_rate; a chosen one is shown as mask_token, as a random token, or as it is, and its loss counts.
// What is chosen is drawn from the run's seed and the step; in evaluations it is the same every time.
class MaskedLm final : public Model {
 public:
  struct Config : Model::Config {
    Required<int64_t> vocab_size, model_dim;
    Required<int64_t> mask_token;
    // Tokens that are never chosen: what marks beginnings and ends.
    std::vector<int64_t> kept_tokens;
    double mask_rate = 0.15;
    // Parts of those chosen; the rest is shown as it is.
    double shown_as_mask = 0.8, shown_as_random = 0.1;
    Slot<Embedding> embedding;
    std::optional<Slot<PositionEmbedding>> position_embedding;  // added to the embedding
    std::optional<Slot<Norm>> embedding_norm;                   // of their sum
    Slot<Decoder> encoder;
    Slot<LmHead> head;
    Slot<TokenLoss> loss;
    int64_t loss_chunks = 1;
    PartitionSpec activation_partition = {{"data", "expert", "fsdp"}, {"seq"}, {}};
    PartitionSpec logits_partition = {{"data", "expert", "fsdp"}, {"seq"}, {"model"}};
    Config();  // encoder: encoder_stack(); head: TransformedHead
    void check(Checker& c) const;
    TENON_CONFIG(vocab_size, model_dim, mask_token, kept_tokens, mask_rate, shown_as_mask, shown_as_random, embedding,
                 position_embedding, embedding_norm, encoder, head, loss, loss_chunks, activation_partition,
                 logits_partition)
  };
  explicit MaskedLm(const Config& config);
  // batch: input_ids, segment_ids (0: padding), positions, all i32 [B,T]. Tokens see their segment, both ways.
  LossSum forward(const Nest& batch) const override;
  std::string_view headline() const override { return "loss.accuracy"; }
  // The batch with tokens hidden: other input_ids, and target_labels that are -1 where nothing is hidden.
  Nest hide(const Nest& batch) const;
  // The loss of such a batch, and its logits [B,T,V] in f32 (f64 when computed so).
  LossSum hidden_loss(const Nest& batch) const;
  Tensor logits(const Nest& batch) const;

 private:
  Tensor hidden(const Nest& batch) const;
  int64_t vocab_size_, mask_token_;
  std::vector<int64_t> kept_tokens_;
  double mask_rate_, shown_as_mask_, shown_as_random_;
  int64_t loss_chunks_;
  PartitionSpec activation_partition_, logits_partition_;
  Child<Embedding> embedding_;
  std::optional<Child<PositionEmbedding>> position_embedding_;
  std::optional<Child<Norm>> embedding_norm_;
  Child<Decoder> encoder_;
  Child<LmHead> head_;
  Child<TokenLoss> loss_;
};

}  // namespace tenon
