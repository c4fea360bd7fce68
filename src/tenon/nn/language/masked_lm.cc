#include "tenon/nn/language/masked_lm.h"

#include <algorithm>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/nn/batch.h"
#include "tenon/nn/experts/auxiliary_loss.h"
#include "tenon/nn/language/chunked_loss.h"
#include "tenon/nn/language/embed_tokens.h"
#include "tenon/nn/language/fill.h"

namespace tenon {

TENON_MODULE(MaskedLm, Model, "predicts tokens that are hidden from it; Devlin et al. 2019",
             {"vocab_size", "tokens there are"}, {"model_dim", "size of the residual stream"},
             {"mask_token", "what stands for a hidden token"},
             {"kept_tokens", "tokens that are never hidden, such as those of beginnings and ends"},
             {"mask_rate", "probability that a token is chosen"},
             {"shown_as_mask", "part of the chosen that is shown as mask_token"},
             {"shown_as_random", "part of the chosen that is shown as any token; the rest is shown as it is"},
             {"position_embedding", "added to the embedding; empty: nothing"},
             {"embedding_norm", "of their sum; empty: none"},
             {"loss_chunks", "pieces along T in which logits are made, to save memory"})

namespace {

// i1: whether an element of `ids` is one of these.
Tensor is_any(const Tensor& ids, const std::vector<int64_t>& tokens) {
  Tensor out = full({DType::i1, ids.dims()}, 0);
  for (const int64_t token : tokens) out = logical_or(out, equal(ids, full_like(ids, static_cast<double>(token))));
  return out;
}

// i1: true with probability `p`.
Tensor below(const Tensor& uniform, double p) { return less(uniform, full_like(uniform, p)); }

}  // namespace

MaskedLm::Config::Config()
    : embedding(Embedding::Config{}),
      encoder(encoder_stack()),
      head(TransformedHead::Config{}),
      loss(CrossEntropy::Config{}) {}

void MaskedLm::Config::check(Checker& c) const {
  c.positive("vocab_size", vocab_size);
  c.positive("model_dim", model_dim);
  c.positive("loss_chunks", loss_chunks);
  c.at_least("mask_token", mask_token, 0);
  if (vocab_size.is_set() && mask_token.is_set()) {
    c.require(*mask_token < *vocab_size, "mask_token", "must be below vocab_size");
  }
  c.require(std::all_of(kept_tokens.begin(), kept_tokens.end(), [](int64_t token) { return token >= 0; }),
            "kept_tokens", "must be tokens, from 0 on");
  if (vocab_size.is_set()) {
    const auto below_size = [&](int64_t token) { return token < *vocab_size; };
    c.require(std::all_of(kept_tokens.begin(), kept_tokens.end(), below_size), "kept_tokens",
              "must be below vocab_size");
  }
  check_interval(c, "mask_rate", mask_rate, '(', 0, 1, ']');
  check_interval(c, "shown_as_mask", shown_as_mask, '[', 0, 1, ']');
  c.require(shown_as_random >= 0 && shown_as_mask + shown_as_random <= 1 + 1e-9, "shown_as_random",
            "must be at least 0, and with shown_as_mask at most 1");
}

MaskedLm::MaskedLm(const Config& c)
    : Model(c),
      vocab_size_(c.vocab_size),
      mask_token_(c.mask_token),
      kept_tokens_(c.kept_tokens),
      mask_rate_(c.mask_rate),
      shown_as_mask_(c.shown_as_mask),
      shown_as_random_(c.shown_as_random),
      loss_chunks_(c.loss_chunks),
      activation_partition_(c.activation_partition),
      logits_partition_(c.logits_partition),
      embedding_(this, "embedding", c.embedding, vocab_by_dim(c.vocab_size, c.model_dim)),
      encoder_(this, "encoder", c.encoder, of_dim(c.model_dim)),
      head_(this, "head", c.head, head_of(c.vocab_size, c.model_dim)),
      loss_(this, "loss", c.loss) {
  share("embedding", "embedding");
  if (c.position_embedding) {
    position_embedding_.emplace(this, "position_embedding", *c.position_embedding, of_dim(c.model_dim));
  }
  if (c.embedding_norm) {
    embedding_norm_.emplace(this, "embedding_norm", *c.embedding_norm, of_dim(c.model_dim));
  }
}

Nest MaskedLm::hide(const Nest& batch) const {
  const Tensor &ids = token_array(batch, "input_ids"), &segments = token_array(batch, "segment_ids");
  const Tensor key = is_training() ? rng("mask") : make_key(0);
  const auto uniform = [&](const char* draw) { return random_uniform(fold_in(key, draw), ids.dims(), DType::f32); };
  // Behind a barrier: XLA's CPU compiler would compute the draws anew in everything that reads them, and take forever.
  const std::vector<Tensor> draws =
      optimization_barrier({uniform("chosen"), uniform("how"), random_bits(fold_in(key, "token"), ids.dims())});
  const Tensor text = logical_and(greater(segments, zeros_like(segments)), logical_not(is_any(ids, kept_tokens_)));
  const Tensor chosen = logical_and(text, below(draws[0], mask_rate_));
  const Tensor &how = draws[1], &bits = draws[2];
  const Tensor any = convert(rem(bits, full_like(bits, static_cast<double>(vocab_size_))), DType::i32);
  const Tensor mask = full_like(ids, static_cast<double>(mask_token_));
  const Tensor changed =
      select(below(how, shown_as_mask_), mask, select(below(how, shown_as_mask_ + shown_as_random_), any, ids));
  Nest out = batch;
  out["input_ids"] = select(chosen, changed, ids);
  out["target_labels"] = select(chosen, ids, full_like(ids, -1));
  return out;
}

Tensor MaskedLm::hidden(const Nest& batch) const {
  const SequenceInfo info{token_array(batch, "positions"), token_array(batch, "segment_ids"), {}};
  const Tensor x = embed_texts(embedding_, position_embedding_, token_array(batch, "input_ids"), info.positions);
  return encoder_(shard(embedding_norm_ ? (*embedding_norm_)(x) : x, activation_partition_), info);
}

Tensor MaskedLm::logits(const Nest& batch) const { return widen(head_(hidden(batch))); }

LossSum MaskedLm::hidden_loss(const Nest& batch) const {
  const Tensor& labels = token_array(batch, "target_labels");
  const LossSum loss = chunked_loss({hidden(batch), labels}, loss_chunks_, [&](const std::vector<Tensor>& piece) {
    return loss_(shard(head_(piece[0]), logits_partition_), piece[1]);
  });
  return add_auxiliary_losses(loss, live_tokens(labels));
}

LossSum MaskedLm::forward(const Nest& batch) const { return hidden_loss(hide(batch)); }

}  // namespace tenon
