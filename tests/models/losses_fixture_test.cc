// Losses and the models that have them against PyTorch and transformers (tests/fixtures/make_losses_fixture.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fixture.h"
#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/language/contrastive.h"
#include "tenon/nn/language/distilled_lm.h"
#include "tenon/nn/language/masked_lm.h"

namespace tenon {
namespace {

const Fixture& losses_file() {
  static const Fixture fixture("losses");
  return fixture;
}

// "loss" (a mean) and "grads.<path>".
template <class M>
Values mean_and_gradients(const M& model, LossSum (M::*loss)(const Nest&) const, const Values& weights,
                          const Values& batch) {
  return unstack(evaluate(weights, batch, [&](const Nest& s, const Nest& b) {
    const auto both = value_and_grad(
        [&](const Nest& params) {
          const LossSum sums = functional(model, loss, params, Tensor(), true, b).result;
          return std::pair(sums.sum / sums.weight, Nest());
        },
        s);
    Nest out{{"loss", both.value}};
    for (const auto& [name, grad] : both.grads) out.emplace("grads." + name, grad);
    return out;
  }));
}

void expect_results(const Values& got, const std::string& name) {
  EXPECT_EQ(difference(got.at("loss"), losses_file()[name + "/loss"], kTolerance), "");
  for (const auto& [path, want] : losses_file().all(name + "/grads/")) {
    ASSERT_TRUE(got.contains("grads." + path)) << path;
    const Literal& grad = got.at("grads." + path);
    EXPECT_EQ(gradient_difference(grad, want), "") << path;
  }
}

TEST(LossesFixture, LabelSmoothingAndZLoss) {
  CrossEntropy::Config config;
  config.label_smoothing = 0.1;
  config.z_loss = 0.01;
  const CrossEntropy loss(config);
  const Values inputs{{"logits", losses_file()["smooth/logits"]}, {"labels", losses_file()["smooth/labels"]}};
  const Values got = evaluate({}, inputs, [&](const Nest&, const Nest& in) {
    const auto both = value_and_grad(
        [&](const Tensor& logits) {
          const auto out =
              functional(loss, &TokenLoss::forward, Nest(), Tensor(), true, logits, in.at("labels")).result;
          return std::pair(out.sum, out.weight);
        },
        in.at("logits"));
    return Nest{{"loss", both.value}, {"count", both.aux}, {"grad", both.grads}};
  });
  EXPECT_EQ(got.at("count").as_double(0), 8);
  EXPECT_EQ(difference(got.at("loss"), losses_file()["smooth/loss"], kExact), "");
  EXPECT_EQ(difference(got.at("grad"), losses_file()["smooth/grad"], kExact), "");
}

MaskedLm::Config bert() {
  PlainFeedForward::Config feed_forward;
  feed_forward.hidden_dim = 12;
  feed_forward.up.as<Linear>().bias = feed_forward.down.as<Linear>().bias = true;
  LinearQkv::Config qkv;
  qkv.linear.as<Linear>().bias = true;
  PostNormResidual::Config residual;
  residual.norm = LayerNorm::Config();
  MaskedLm::Config c;
  c.vocab_size = kVocab;
  c.model_dim = 8;
  c.mask_token = kVocab - 1;
  c.compute_dtype = DType::f64;
  LearnedPositions::Config positions;
  positions.max_positions = kTokens;
  c.position_embedding = positions;
  c.embedding_norm = LayerNorm::Config();
  auto& encoder = c.encoder.as<Decoder>();
  encoder.num_layers = 2;
  encoder.norm = NoNorm::Config();
  auto& layer = encoder.pattern[0].as<DecoderLayer>();
  auto& attention = layer.attention.as<MultiheadAttention>();
  attention.num_heads = 2;
  attention.qkv = qkv;
  attention.output.as<Linear>().bias = true;
  layer.feed_forward = feed_forward;
  layer.residual = residual;
  return c;
}

TEST(LossesFixture, Bert) {
  for (const int64_t chunks : {1, 3}) {
    MaskedLm::Config config = bert();
    config.loss_chunks = chunks;
    const MaskedLm model(config);
    const Values weights = weights_for(model, losses_file(), "bert"), batch = losses_file().all("bert/batch/");
    expect_results(mean_and_gradients(model, &MaskedLm::hidden_loss, weights, batch), "bert");
    const Values got = evaluate(weights, batch, [&](const Nest& s, const Nest& b) {
      return Nest{{"logits", functional(model, &MaskedLm::logits, s, Tensor(), false, b).result}};
    });
    EXPECT_EQ(difference(got.at("logits"), losses_file()["bert/logits"], kTolerance), "");
  }
}

CausalLm::Config llama(int64_t num_layers) {
  RMSNorm::Config norm;
  norm.eps = 1e-6;
  RotaryQkv::Config qkv;
  qkv.theta = 100;
  CausalLm::Config c;
  c.model_dim = 8;
  auto& decoder = c.decoder.as<Decoder>();
  decoder.num_layers = num_layers;
  decoder.norm = norm;
  auto& layer = decoder.pattern[0].as<DecoderLayer>();
  layer.residual.as<PreNormResidual>().norm = norm;
  layer.feed_forward.as<GatedFeedForward>().hidden_dim = 12;
  auto& attention = layer.attention.as<MultiheadAttention>();
  attention.num_heads = 2;
  attention.head_dim = 8;
  attention.qkv = qkv;
  return c;
}

TEST(LossesFixture, Distillation) {
  for (const int64_t chunks : {1, 4}) {
    DistilledLm::Config config;
    config.vocab_size = kVocab;
    config.compute_dtype = DType::f64;
    config.student = llama(1);
    config.teacher = llama(2);
    config.temperature = 3;
    config.soft_weight = 0.7;
    config.student.as<CausalLm>().loss_chunks = chunks;
    const DistilledLm model(config);
    const Values got = mean_and_gradients(model, &DistilledLm::forward, weights_for(model, losses_file(), "distilled"),
                                          losses_file().all("distilled/batch/"));
    expect_results(got, "distilled");
    for (const auto& [name, value] : got) {
      if (!name.starts_with("grads.teacher.")) continue;
      EXPECT_EQ(largest(value), 0) << name;
    }
  }
}

// contrastive_loss is for a module's forward.
class Pairs final : public Module {
 public:
  LossSum forward(const Nest& in) const {
    const Tensor& live = in.at("live");
    return contrastive_loss(in.at("a"), in.at("b"), greater(live, zeros_like(live)), in.at("scale"));
  }
};

TEST(LossesFixture, ContrastivePairs) {
  const Pairs pairs;
  const Values inputs{{"live", losses_file()["pairs/live"]}},
      state{{"a", losses_file()["pairs/a"]}, {"b", losses_file()["pairs/b"]}, {"scale", losses_file()["pairs/scale"]}};
  const Values got = evaluate(state, inputs, [&](const Nest& s, const Nest& in) {
    const auto both = value_and_grad(
        [&](Nest all) {
          all.insert(in.begin(), in.end());
          const LossSum out = functional(pairs, &Pairs::forward, Nest(), Tensor(), true, all).result;
          return std::pair(out.sum, out.weight);
        },
        s);
    Nest out{{"loss", both.value}, {"count", both.aux}};
    for (const auto& [name, grad] : both.grads) out.emplace("grad_" + name, grad);
    return out;
  });
  EXPECT_EQ(got.at("count").as_double(0), 5);
  for (const char* name : {"loss", "grad_a", "grad_b", "grad_scale"}) {
    EXPECT_EQ(difference(got.at(name), losses_file()[std::string("pairs/") + name], kExact), "") << name;
  }
}

}  // namespace
}  // namespace tenon
