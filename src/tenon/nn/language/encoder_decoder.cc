#include "tenon/nn/language/encoder_decoder.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/batch.h"
#include "tenon/nn/experts/auxiliary_loss.h"
#include "tenon/nn/language/embed_tokens.h"
#include "tenon/nn/language/fill.h"
#include "tenon/nn/transformer/cross_decoder_layer.h"

namespace tenon {

TENON_MODULE(EncoderDecoder, LanguageModel, "reads one text and writes another",
             {"model_dim", "size of the residual stream"}, {"embedding", "of source and target"},
             {"position_embedding", "one each for source and target is made of it; empty: none"},
             {"encoder", "reads the source"}, {"decoder", "writes the target"})

namespace {

const Tensor& source(const Nest& batch, const char* name) { return token_array(batch, name, "source_ids"); }

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
    : LanguageModel(c),
      activation_partition_(c.activation_partition),
      logits_partition_(c.logits_partition),
      embedding_(this, "embedding", c.embedding, vocab_by_dim(c.vocab_size, c.model_dim)),
      encoder_(this, "encoder", c.encoder, of_dim(c.model_dim)),
      decoder_(this, "decoder", c.decoder, of_dim(c.model_dim)),
      head_(this, "head", c.head, head_of(c.vocab_size, c.model_dim)),
      loss_(this, "loss", c.loss) {
  share("embedding", "embedding");
  if (!c.position_embedding) return;
  source_positions_.emplace(this, "source_positions", *c.position_embedding, of_dim(c.model_dim));
  target_positions_.emplace(this, "target_positions", *c.position_embedding, of_dim(c.model_dim));
}

Memory EncoderDecoder::encode(const Nest& batch) const {
  const SequenceInfo info{source(batch, "source_positions"), source(batch, "source_segment_ids"), {}};
  const Tensor x = embed_texts(embedding_, source_positions_, source(batch, "source_ids"), info.positions);
  return {encoder_(shard(x, activation_partition_), info), info.positions, info.segment_ids};
}

Tensor EncoderDecoder::hidden(const Nest& batch) const {
  const SequenceInfo info{token_array(batch, "positions"), token_array(batch, "segment_ids"), encode(batch)};
  const Tensor x = embed_texts(embedding_, target_positions_, token_array(batch, "input_ids"), info.positions);
  return decoder_(shard(x, activation_partition_), info);
}

Tensor EncoderDecoder::logits(const Nest& batch) const { return widen(head_(hidden(batch))); }

LossSum EncoderDecoder::forward(const Nest& batch) const {
  const Tensor& labels = token_array(batch, "target_labels");
  const LossSum loss = loss_(shard(head_(hidden(batch)), logits_partition_), labels);
  return add_auxiliary_losses(loss, live_tokens(labels));
}

std::optional<int64_t> EncoderDecoder::max_length() const {
  if (!target_positions_) return {};
  return target_positions_->call(&PositionEmbedding::max_positions);
}

Nest EncoderDecoder::init_cache(const CacheSizes& sizes) const { return decoder_.call(&Decoder::init_cache, sizes); }

Nest EncoderDecoder::read_source(const Nest& cache, const Tensor& ids, const Tensor& lengths) const {
  const Tensor positions = iota(ids.type(), 1);
  const Tensor live = less(positions, broadcast_to(column_of(lengths, ids.dim(0)), ids.dims()));
  const Memory memory =
      encode({{"source_ids", ids}, {"source_segment_ids", convert(live, DType::i32)}, {"source_positions", positions}});
  return decoder_.call(&Decoder::read_memory, cache, memory);
}

std::pair<Nest, Tensor> EncoderDecoder::extend_step(const Nest& cache, const Tensor& ids, const Tensor& start,
                                                    const Tensor& last) const {
  const DecodeStep step{start, last + 1.0};
  const Tensor positions = step_positions(step, ids.dim(0), ids.dim(1));
  const Tensor x = shard(embed_tokens(embedding_, target_positions_, ids, positions), activation_partition_);
  auto [next, y] = decoder_.call(&Decoder::extend_step, cache, x, step);
  return {std::move(next), widen(head_(token_at(y, last)))};
}

}  // namespace tenon
