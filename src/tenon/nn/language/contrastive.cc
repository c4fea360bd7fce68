#include "tenon/nn/language/contrastive.h"

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/batch.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/language/embed_tokens.h"
#include "tenon/nn/language/fill.h"

namespace tenon {

TENON_MODULE(TextEncoder, Module, "a text as a vector: the mean of its tokens' states, projected, of length 1",
             {"vocab_size", "tokens there are"}, {"model_dim", "size of the residual stream"},
             {"embedding_dim", "size of the vector; empty: model_dim"},
             {"position_embedding", "added to the embedding; empty: nothing"})
TENON_MODULE(ContrastivePairs, Model, "encoders for which the two halves of a row are near each other",
             {"vocab_size", "tokens there are"}, {"second_encoder", "of second halves; empty: one for both"},
             {"temperature", "at the start, divides how near two vectors are; learned"},
             {"min_temperature", "the least it can become"})

namespace {

// Below any logit.
constexpr double kHidden = -1e30;
const PartitionSpec kByExample = {{"data", "expert", "fsdp"}, {}};

// -log softmax(logits)[i] of each row i of logits [B,B].
Tensor matching_loss(const Tensor& logits, const Tensor& diagonal) {
  return squeeze(log_sum_exp_keep(logits), 1) - diagonal;
}

}  // namespace

LossSum contrastive_loss(const Tensor& a, const Tensor& b, const Tensor& live, const Tensor& scale) {
  const int64_t B = a.dim(0);
  const DotDims dims{{}, {}, {1}, {1}};
  const Tensor x = widen(a), y = widen(b);
  const Tensor near = shard(dot_general(x, y, dims), kByExample) * broadcast_to(convert(scale, x.dtype()), {B, B});
  const Tensor hidden = full_like(near, kHidden);
  const Tensor diagonal = reduce_sum(x * y, {1}) * broadcast_to(convert(scale, x.dtype()), {B});
  const Tensor by_a = select(broadcast_to(expand_dims(live, 0), near.dims()), near, hidden);
  const Tensor by_b = select(broadcast_to(expand_dims(live, 1), near.dims()), near, hidden);
  const Tensor loss = (matching_loss(by_a, diagonal) + matching_loss(transpose(by_b, {1, 0}), diagonal)) * 0.5;
  const Tensor none = zeros_like(loss), one = full_like(loss, 1);
  const Tensor count = sum_all(select(live, one, none));
  const Tensor best = equal(argmax(by_a, 1), iota({DType::i32, {B}}, 0));
  const Tensor right = sum_all(select(logical_and(live, best), one, none));
  summary("accuracy", right / maximum(count, full_like(count, 1)), Merge::weighted_mean, count);
  return {sum_all(select(live, loss, none)), count};
}

TextEncoder::Config::Config()
    : embedding(Embedding::Config{}), encoder(encoder_stack()), projection(Linear::Config{}) {}

void TextEncoder::Config::check(Checker& c) const {
  c.positive("vocab_size", vocab_size);
  c.positive("model_dim", model_dim);
  if (embedding_dim) c.positive("embedding_dim", *embedding_dim);
}

TextEncoder::TextEncoder(const Config& c)
    : Module(c),
      activation_partition_(c.activation_partition),
      embedding_(this, "embedding", c.embedding, vocab_by_dim(c.vocab_size, c.model_dim)),
      encoder_(this, "encoder", c.encoder, of_dim(c.model_dim)),
      projection_(this, "projection", c.projection, [&](Linear::Config& l) {
        l.input_dim = c.model_dim;
        l.output_dim = c.embedding_dim ? *c.embedding_dim : c.model_dim.value();
      }) {
  if (!c.position_embedding) return;
  position_embedding_.emplace(this, "position_embedding", *c.position_embedding, of_dim(c.model_dim));
}

Tensor TextEncoder::forward(const Tensor& ids, const Tensor& live) const {
  const SequenceInfo info{iota(ids.type(), 1), convert(live, DType::i32), {}};
  const Tensor x = embed_texts(embedding_, position_embedding_, ids, info.positions);
  const Tensor states = widen(encoder_(shard(x, activation_partition_), info));
  const Tensor shown = broadcast_to(expand_dims(live, 2), states.dims());
  const Tensor sum = reduce_sum(select(shown, states, zeros_like(states)), {1});
  const Tensor count = reduce_sum(convert(live, states.dtype()), {1});
  const Tensor tokens = expand_dims(maximum(count, full_like(count, 1)), 1);
  const Tensor y = widen(projection_(convert(sum / broadcast_to(tokens, sum.dims()), x.dtype())));
  const Tensor squares = sum_keep(y * y, {1});
  return y * rsqrt(maximum(squares, full_like(squares, 1e-24)));
}

ContrastivePairs::Config::Config() : encoder(TextEncoder::Config{}) {}

void ContrastivePairs::Config::check(Checker& c) const {
  c.positive("vocab_size", vocab_size);
  check_above_zero(c, "min_temperature", min_temperature);
  check_finite(c, "temperature", temperature);
  c.at_least("temperature", temperature, min_temperature);
}

ContrastivePairs::ContrastivePairs(const Config& c)
    : Model(c),
      min_temperature_(c.min_temperature),
      encoder_(this, "encoder", c.encoder, [&](TextEncoder::Config& e) { e.vocab_size = c.vocab_size; }),
      log_scale_(this, "log_scale", {}, {{}, Constant{-std::log(c.temperature)}, 0}) {
  if (!c.second_encoder) return;
  second_encoder_.emplace(this, "second_encoder", *c.second_encoder,
                          [&](TextEncoder::Config& e) { e.vocab_size = c.vocab_size; });
}

Tensor ContrastivePairs::encode(const Tensor& ids, const Tensor& live, bool second) const {
  return second && second_encoder_ ? (*second_encoder_)(ids, live) : encoder_(ids, live);
}

Tensor ContrastivePairs::encode(const Nest& batch, bool second) const {
  const Tensor& segments = token_array(batch, "segment_ids");
  return encode(token_array(batch, "input_ids"), greater(segments, zeros_like(segments)), second);
}

LossSum ContrastivePairs::forward(const Nest& batch) const {
  const Tensor &ids = token_array(batch, "input_ids"), &segments = token_array(batch, "segment_ids");
  const int64_t T = ids.dim(1);
  if (T % 2 != 0) {
    throw Error(ErrorCode::shape_mismatch, "rows are cut into two halves")
        .at("input_ids")
        .got(to_string(ids.type()))
        .expected("an even number of tokens");
  }
  const Tensor live = greater(segments, zeros_like(segments));
  const auto half = [&](const Tensor& x, bool second) {
    return slice_dim(x, 1, second ? T / 2 : 0, second ? T : T / 2);
  };
  const auto any = [&](bool second) { return reduce_max(convert(half(live, second), DType::i32), {1}); };
  const Tensor a = encode(half(ids, false), half(live, false), false);
  const Tensor b = encode(half(ids, true), half(live, true), true);
  const Tensor both = minimum(any(false), any(true));
  const Tensor log_scale = log_scale_.full();
  const Tensor scale = exp(minimum(log_scale, full_like(log_scale, -std::log(min_temperature_))));
  summary("temperature", full_like(scale, 1) / scale);
  return contrastive_loss(a, b, greater(both, zeros_like(both)), scale);
}

}  // namespace tenon
