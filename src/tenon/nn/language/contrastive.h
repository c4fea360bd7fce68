// Texts as vectors, so that those that belong together are near each other.
//
// Letters: B batch, T tokens, D model, E embedding.
#pragma once

#include <optional>

#include "tenon/nn/basic/embedding.h"
#include "tenon/nn/basic/linear.h"
#include "tenon/nn/language/decoder.h"
#include "tenon/nn/model.h"
#include "tenon/nn/position/position_embedding.h"

namespace tenon {

// The loss of `scale` <a_i, b_j> as logits of which b belongs to a_i, and of which a to b_i, halved: the symmetric
// InfoNCE of Radford et al. 2021 ("CLIP", figure 3), summed over the rows that are `live`; the others are nothing's
// negatives either. a, b [B,E]; live i1 [B]; scale a scalar. Rows of the whole batch are compared, wherever they are:
// on a mesh, the negatives are those of all devices. Gives the summary "accuracy": how often b_i is a_i's best.
LossSum contrastive_loss(const Tensor& a, const Tensor& b, const Tensor& live, const Tensor& scale);

// A text as a vector of length 1: the mean of its tokens' states, projected.
class TextEncoder final : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> vocab_size, model_dim;
    std::optional<int64_t> embedding_dim;  // E; empty: model_dim
    Slot<Embedding> embedding;
    std::optional<Slot<PositionEmbedding>> position_embedding;  // added to the embedding
    Slot<Decoder> encoder;
    Slot<Linear> projection;
    PartitionSpec activation_partition = {{"data", "expert", "fsdp"}, {"seq"}, {}};
    Config();  // encoder: encoder_stack()
    void check(Checker& c) const;
    TENON_CONFIG(vocab_size, model_dim, embedding_dim, embedding, position_embedding, encoder, projection,
                 activation_partition)
  };
  explicit TextEncoder(const Config& config);
  // ids i32 [B,T], live i1 [B,T] -> [B,E], in f32 (f64 when computed so). Tokens see all live tokens of their row; a
  // row without any is a vector of zeros.
  Tensor forward(const Tensor& ids, const Tensor& live) const;

 private:
  PartitionSpec activation_partition_;
  Child<Embedding> embedding_;
  std::optional<Child<PositionEmbedding>> position_embedding_;
  Child<Decoder> encoder_;
  Child<Linear> projection_;
};

// Trains encoders on pairs of texts: the first and the second half of each row of a batch belong together, and the
// halves of other rows don't (neighbouring pieces as pairs: Neelakantan et al. 2022, "Text and code embeddings by
// contrastive pre-training"). The scale of the logits is learned, as its logarithm.
class ContrastivePairs final : public Model {
 public:
  struct Config : Model::Config {
    Required<int64_t> vocab_size;
    Slot<TextEncoder> encoder;
    std::optional<Slot<TextEncoder>> second_encoder;  // of second halves; empty: one for both
    // 1 / scale at the start, and the least that training comes to.
    double temperature = 0.07, min_temperature = 0.01;
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(vocab_size, encoder, second_encoder, temperature, min_temperature)
  };
  explicit ContrastivePairs(const Config& config);
  // batch: input_ids and segment_ids (0: padding), i32 [B,T], T even. The weight is the number of pairs; a row with an
  // empty half is none. Gives the summary "temperature".
  LossSum forward(const Nest& batch) const override;
  std::string_view unit() const override { return "pairs"; }
  std::string_view headline() const override { return "accuracy"; }
  bool mixes_examples() const override { return true; }
  // [B,E]: the vectors of whole rows, as first (or second) halves are read.
  Tensor encode(const Nest& batch, bool second) const;

 private:
  Tensor encode(const Tensor& ids, const Tensor& live, bool second) const;
  double min_temperature_;
  Child<TextEncoder> encoder_;
  std::optional<Child<TextEncoder>> second_encoder_;
  Param log_scale_;
};

}  // namespace tenon
