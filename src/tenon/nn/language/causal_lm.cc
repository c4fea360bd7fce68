#include "tenon/nn/language/causal_lm.h"

#include "tenon/config/define.h"
#include "tenon/ir/mesh_scope.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/batch.h"
#include "tenon/nn/experts/auxiliary_loss.h"
#include "tenon/nn/language/chunked_loss.h"
#include "tenon/nn/language/embed_tokens.h"
#include "tenon/nn/language/fill.h"

namespace tenon {

TENON_MODULE(CausalLm, LanguageModel, "embedding, decoder, head: predicts the next token",
             {"model_dim", "size of the residual stream"},
             {"position_embedding", "added to the embedding; empty: nothing"},
             {"separate_documents", "tokens see and count from the start of their document; if not, of their row"},
             {"loss_chunks", "pieces along T in which logits are made, to save memory"},
             {"token_order", "of a row over the devices along 'seq'; zigzag: causal attention costs all as much"})

CausalLm::Config::Config()
    : embedding(Embedding::Config{}),
      decoder(Decoder::Config{}),
      head(TiedHead::Config{}),
      loss(CrossEntropy::Config{}) {}

void CausalLm::Config::check(Checker& c) const {
  c.positive("vocab_size", vocab_size);
  c.positive("model_dim", model_dim);
  c.positive("loss_chunks", loss_chunks);
}

CausalLm::CausalLm(const Config& c)
    : LanguageModel(c),
      separate_documents_(c.separate_documents),
      loss_chunks_(c.loss_chunks),
      token_order_(c.token_order),
      activation_partition_(c.activation_partition),
      logits_partition_(c.logits_partition),
      embedding_(this, "embedding", c.embedding, vocab_by_dim(c.vocab_size, c.model_dim)),
      decoder_(this, "decoder", c.decoder, of_dim(c.model_dim)),
      head_(this, "head", c.head, head_of(c.vocab_size, c.model_dim)),
      loss_(this, "loss", c.loss) {
  share("embedding", "embedding");
  if (c.decoder->form == StackForm::pipeline) pipeline_ = c.decoder->pipeline;
  if (!c.position_embedding) return;
  position_embedding_.emplace(this, "position_embedding", *c.position_embedding, of_dim(c.model_dim));
}

SequenceInfo CausalLm::sequence_info(const Nest& batch) const {
  if (separate_documents_) return {token_array(batch, "positions"), token_array(batch, "segment_ids")};
  const TensorType& type = token_array(batch, "input_ids").type();
  return {iota(type, 1), zeros(type)};
}

Tensor CausalLm::embed(const Tensor& ids, const SequenceInfo& info) const {
  return shard(embed_texts(embedding_, position_embedding_, ids, info.positions), activation_partition_);
}

Tensor CausalLm::hidden(const Tensor& ids, const SequenceInfo& info) const { return decoder_(embed(ids, info), info); }

Tensor CausalLm::logits(const Nest& batch) const { return widen(head_(hidden_states(batch))); }

Tensor CausalLm::hidden_states(const Nest& batch) const {
  return hidden(token_array(batch, "input_ids"), sequence_info(batch));
}

Tensor CausalLm::hidden_logits(const Tensor& x) const { return shard(head_(x), logits_partition_); }

LossSum CausalLm::hidden_loss(const Tensor& x, const Tensor& labels) const {
  return chunked_loss({x, labels}, loss_chunks_,
                      [&](const std::vector<Tensor>& piece) { return loss_(hidden_logits(piece[0]), piece[1]); });
}

LossSum CausalLm::forward(const Nest& batch) const {
  const TokenOrderScope scope(token_order_);
  const auto laid = [&](const Tensor& t) { return lay_tokens(t, token_order_); };
  const SequenceInfo info = sequence_info(batch);
  const TextBatch texts{laid(token_array(batch, "input_ids")),
                        {laid(info.positions), laid(info.segment_ids), {}},
                        laid(token_array(batch, "target_labels"))};
  if (is_training() && pipeline_ && pipeline_->takes_loss(program_mesh())) return pipelined_loss(texts);
  const LossSum loss = hidden_loss(hidden(texts.ids, texts.info), texts.labels);
  return add_auxiliary_losses(loss, live_tokens(texts.labels));
}

LossSum CausalLm::pipelined_loss(const TextBatch& texts) const {
  Context& here = Context::current();
  PipelineEnds<Tensor, TextBatch> ends;
  ends.begin = [&](const Tensor& index, const TextBatch& piece, Collected& collected) {
    const PieceScope scope(here, index, collected);
    return embed(piece.ids, piece.info);
  };
  ends.end = [&](const Tensor& index, const Tensor& x, const TextBatch& piece, Collected& collected) {
    const PieceScope scope(here, index, collected);
    return hidden_loss(decoder_.call(&Decoder::norm, x), piece.labels);
  };
  ends.stage_loss = [](const Outputs& aux, const TextBatch& piece) {
    return sum_of_auxiliary_losses(aux, live_tokens(piece.labels));
  };
  const LossSum loss = decoder_.call(&Decoder::loss, texts, ends);
  report_auxiliary_losses(loss, live_tokens(texts.labels));
  return loss;
}

std::optional<int64_t> CausalLm::max_length() const {
  if (!position_embedding_) return {};
  return position_embedding_->call(&PositionEmbedding::max_positions);
}

Nest CausalLm::init_cache(const CacheSizes& sizes) const { return decoder_.call(&Decoder::init_cache, sizes); }

std::pair<Nest, Tensor> CausalLm::extend_step(const Nest& cache, const Tensor& ids, const Tensor& start,
                                              const Tensor& last) const {
  const DecodeStep step{start, last + 1.0};
  const Tensor positions = step_positions(step, ids.dim(0), ids.dim(1));
  const Tensor x = embed_tokens(embedding_, position_embedding_, ids, positions);
  auto [next, y] = decoder_.call(&Decoder::extend_step, cache, x, step);
  return {std::move(next), widen(head_(token_at(y, last)))};
}

}  // namespace tenon
