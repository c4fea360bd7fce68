#include "tenon/nn/language/encoder_decoder.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/batch.h"
#include "tenon/nn/experts/auxiliary_loss.h"
#include "tenon/nn/language/chunked_loss.h"
#include "tenon/nn/transformer/cross_decoder_layer.h"

namespace tenon {

TENON_MODULE(EncoderDecoder, Model, "reads one text and writes another", {"vocab_size", "tokens there are"},
             {"model_dim", "size of the residual stream"}, {"embedding", "of source and target"},
             {"position_embedding", "one each for source and target is made of it; empty: none"},
             {"encoder", "reads the source"}, {"decoder", "writes the target"})

namespace {

Tensor wide(const Tensor& x) { return convert(x, x.dtype() == DType::f64 ? DType::f64 : DType::f32); }
const Tensor& source(const Nest& batch, const char* name) { return token_array(batch, name, "source_ids"); }
const Tensor& target(const Nest& batch, const char* name) { return token_array(batch, name, "input_ids"); }

}  // namespace

EncoderDecoder::Config::Config()
    : embedding(Embedding::Config{}),
      encoder(encoder_stack()),
      decoder(stack_of(CrossDecoderLayer::Config{})),
      head(TiedHead::Config{}),
      loss(CrossEntropy::Config{}) {}

void EncoderDecoder::Config::check(Checker& c) const {
  c.positive("vocab_size", vocab_size);
  c.positive("model_dim", model_dim);
}

EncoderDecoder::EncoderDecoder(const Config& c)
    : Model(c),
      activation_partition_(c.activation_partition),
      logits_partition_(c.logits_partition),
      embedding_(this, "embedding", c.embedding,
                 [&](Embedding::Config& e) {
                   e.vocab_size = c.vocab_size;
                   e.embedding_dim = c.model_dim;
                 }),
      encoder_(this, "encoder", c.encoder, [&](Decoder::Config& d) { d.input_dim = c.model_dim; }),
      decoder_(this, "decoder", c.decoder, [&](Decoder::Config& d) { d.input_dim = c.model_dim; }),
      head_(this, "head", c.head,
            [&](LmHead::Config& h) {
              h.vocab_size = c.vocab_size;
              h.input_dim = c.model_dim;
            }),
      loss_(this, "loss", c.loss) {
  share("embedding", "embedding");
  if (!c.position_embedding) return;
  const auto dim = [&](PositionEmbedding::Config& p) { p.input_dim = c.model_dim; };
  source_positions_.emplace(this, "source_positions", *c.position_embedding, dim);
  target_positions_.emplace(this, "target_positions", *c.position_embedding, dim);
}

Tensor EncoderDecoder::embed(const Positions& by_position, const Tensor& ids, const Tensor& positions) const {
  const Tensor x = embedding_(ids);
  return shard(by_position ? x + (*by_position)(positions) : x, activation_partition_);
}

Memory EncoderDecoder::encode(const Nest& batch) const {
  const SequenceInfo info{source(batch, "source_positions"), source(batch, "source_segment_ids"), {}};
  const Tensor& ids = source(batch, "source_ids");
  if (source_positions_) source_positions_->call(&PositionEmbedding::check_length, ids.dim(1));
  const Tensor states = encoder_(embed(source_positions_, ids, info.positions), info);
  return {states, info.positions, info.segment_ids};
}

Tensor EncoderDecoder::hidden(const Nest& batch) const {
  const SequenceInfo info{target(batch, "positions"), target(batch, "segment_ids"), encode(batch)};
  const Tensor& ids = target(batch, "input_ids");
  if (target_positions_) target_positions_->call(&PositionEmbedding::check_length, ids.dim(1));
  return decoder_(embed(target_positions_, ids, info.positions), info);
}

Tensor EncoderDecoder::logits(const Nest& batch) const { return wide(head_(hidden(batch))); }

LossSum EncoderDecoder::forward(const Nest& batch) const {
  const Tensor& labels = target(batch, "target_labels");
  const LossSum loss = loss_(shard(head_(hidden(batch)), logits_partition_), labels);
  return add_auxiliary_losses(loss, live_tokens(labels));
}

Nest EncoderDecoder::init_cache(const Memory& memory, int64_t max_len) const {
  if (target_positions_) target_positions_->call(&PositionEmbedding::check_length, max_len);
  return decoder_.call(&Decoder::init_cache, memory.states.dim(0), max_len, memory);
}

std::pair<Nest, Tensor> EncoderDecoder::extend_step(const Nest& cache, const Tensor& ids, const Tensor& start,
                                                    const Tensor& last) const {
  const DecodeStep step{start, last + 1.0};
  const Tensor x = embed(target_positions_, ids, step_positions(step, ids.dim(0), ids.dim(1)));
  auto [next, y] = decoder_.call(&Decoder::extend_step, cache, x, step);
  return {std::move(next), wide(head_(token_at(y, last)))};
}

}  // namespace tenon
