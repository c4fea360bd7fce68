#include "tenon/nn/testing/tiny_lm.h"

#include <algorithm>
#include <random>

#include "tenon/ir/ops.h"
#include "tenon/nn/experts/mixture_of_experts.h"
#include "tenon/nn/functional.h"

namespace tenon {

CausalLm::Config tiny_lm(StackForm form) {
  CausalLm::Config c;
  c.vocab_size = 11;
  c.model_dim = 8;
  auto& decoder = c.decoder.as<Decoder>();
  decoder.num_layers = 4;
  decoder.form = form;
  attention_of(c).num_heads = 4;
  attention_of(c).num_kv_heads = 2;
  decoder.pattern[0].as<DecoderLayer>().feed_forward.as<GatedFeedForward>().hidden_dim = 12;
  return c;
}

MultiheadAttention::Config& attention_of(CausalLm::Config& config) {
  return config.decoder.as<Decoder>().pattern[0].as<DecoderLayer>().attention.as<MultiheadAttention>();
}

CausalLm::Config tiny_mixture_lm() {
  CausalLm::Config config = tiny_lm(StackForm::scan);
  auto& decoder = config.decoder.as<Decoder>();
  decoder.pattern.push_back(decoder.pattern[0]);
  MixtureOfExperts::Config mixture;
  mixture.num_experts = 4;
  mixture.experts.as<GatedExperts>().hidden_dim = 6;
  mixture.router.as<TopKRouter>().load_balance_loss = 0.1;
  mixture.router.as<TopKRouter>().z_loss = 0.01;
  decoder.pattern[1].as<DecoderLayer>().feed_forward = mixture;
  return config;
}

Values packed_batch(const std::vector<std::vector<int64_t>>& lengths, int64_t vocab_size, int seed) {
  int64_t width = 0;
  for (const auto& row : lengths) {
    int64_t sum = 0;
    for (int64_t n : row) sum += n;
    width = std::max(width, sum);
  }
  std::mt19937 rng(static_cast<unsigned>(seed));
  const auto token = [&] { return static_cast<int64_t>(rng() % static_cast<unsigned>(vocab_size)); };
  const TensorType type{DType::i32, {static_cast<int64_t>(lengths.size()), width}};
  Values batch;
  for (const char* name : {"input_ids", "positions", "segment_ids", "target_labels"})
    batch.emplace(name, Literal(type));
  for (size_t row = 0; row < lengths.size(); ++row) {
    int64_t at = static_cast<int64_t>(row) * width, segment = 0;
    const int64_t end = at + width;
    for (int64_t length : lengths[row]) {
      ++segment;
      int64_t now = token();
      for (int64_t i = 0; i < length; ++i, ++at) {
        const int64_t next = token();
        batch.at("input_ids").set_int(at, now);
        batch.at("target_labels").set_int(at, next);
        batch.at("positions").set_int(at, i);
        batch.at("segment_ids").set_int(at, segment);
        now = next;
      }
    }
    for (; at < end; ++at) batch.at("target_labels").set_int(at, -1);
  }
  return batch;
}

Nest loss_and_gradients(const CausalLm& model, const Nest& state, const Nest& batch) {
  const auto both = value_and_grad(
      [&](const Nest& params) {
        auto [loss, collected] = functional(model, &Model::forward, params, Tensor(), true, batch);
        return std::pair(loss.sum / loss.weight, flatten_collected(collected));
      },
      state);
  Nest out = both.aux;
  out.emplace("loss", both.value);
  for (const auto& [name, grad] : both.grads) out.emplace("grads." + name, grad);
  return out;
}

Values loss_and_gradients(const CausalLm& model, const Values& state, const Values& batch) {
  return evaluate(state, batch, [&](const Nest& s, const Nest& b) { return loss_and_gradients(model, s, b); });
}

}  // namespace tenon
