// Training mixtures of experts: neither microbatches nor devices change what is learned.
#include <gtest/gtest.h>

#include "tenon/ir/random.h"
#include "tenon/nn/experts/mixture_of_experts.h"
#include "tenon/nn/testing/tiny_lm.h"
#include "tenon/trainer/gradients.h"
#include "tenon/trainer/test_run.h"

namespace tenon {
namespace {

CausalLm::Config mixture_lm(int64_t vocab_size) {
  CausalLm::Config c = tiny_lm(StackForm::scan);
  c.vocab_size = vocab_size;
  c.decoder.as<Decoder>().num_layers = 2;
  MixtureOfExperts::Config mixture;
  mixture.num_experts = 4;
  mixture.experts.as<GatedExperts>().hidden_dim = 6;
  auto& router = mixture.router.as<TopKRouter>();
  router.load_balance_loss = 0.1;
  router.z_loss = 1e-2;
  c.decoder.as<Decoder>().pattern[0].as<DecoderLayer>().feed_forward = mixture;
  return c;
}

// Rows of unequal length, and one without tokens.
TEST(MixtureTraining, EverySplitOfABatchGivesTheSameGradients) {
  const CausalLm model(mixture_lm(11));
  const Values state = initial_values(model, 1), batch = packed_batch({{5, 3}, {7}, {2}, {}}, 11, 1);
  std::vector<Values> results;
  for (const int64_t accumulation : {1, 2, 4}) {
    results.push_back(evaluate(state, batch, [&](const Nest& s, const Nest& b) {
      Nest params, states;
      for (const ParamInfo& info : describe_state(model)) {
        (info.trainable ? params : states).emplace(info.path, s.at(info.path));
      }
      const Gradients g = gradients(model, params, states, b, make_key(0), accumulation);
      Nest out = g.grads;
      out.insert(g.states.begin(), g.states.end());
      out.emplace("loss", g.loss);
      for (const auto& [path, output] : g.summaries) {
        if (output.merge == Merge::weighted_mean) out.emplace(path, output.value);
      }
      return out;
    }));
  }
  const std::string router = "decoder.layers.0::1.feed_forward.router.";
  for (const char* name : {"load_balance_loss", "z_loss"}) {
    EXPECT_TRUE(results[0].contains(router + name)) << name;
  }
  for (size_t i = 1; i < results.size(); ++i) {
    for (const auto& [name, want] : results[0]) EXPECT_EQ(difference(results[i].at(name), want, 1e-5), "") << name;
  }
}

class MixtureRunTest : public RunTest {
 protected:
  Trainer::Config mixture_config(Slot<Dispatch> dispatch) const {
    Trainer::Config c = config(5);
    CausalLm::Config model = mixture_lm(kVocab);
    model.decoder.as<Decoder>().pattern[0].as<DecoderLayer>().feed_forward.as<MixtureOfExperts>().dispatch =
        std::move(dispatch);
    c.model = model;
    return c;
  }
  void expect_parity(const Trainer::Config& one, Trainer::Config four) {
    run("one", one);
    run("four", four, 4);
    const auto got = losses(path("four")), expected = losses(path("one"));
    ASSERT_EQ(got.size(), 5U);
    for (const auto& [step, loss] : expected) {
      EXPECT_NEAR(std::stod(got.at(step)), std::stod(loss), 1e-5 * std::stod(loss)) << "step " << step;
    }
  }
};

TEST_F(MixtureRunTest, SlowExpertsOverDevices) {
  const Trainer::Config one = mixture_config(CapacityDispatch::Config{});
  Trainer::Config four = one;
  four.mesh = {.data = 1, .expert = 2, .fsdp = 2};
  four.accumulation = 2;
  expect_parity(one, four);
}

TEST_F(MixtureRunTest, SlowDroplessOverDevices) {
  const Trainer::Config one = mixture_config(DroplessDispatch::Config{});
  Trainer::Config four = one;
  four.mesh = {.data = 2, .fsdp = 2};
  expect_parity(one, four);
}

}  // namespace
}  // namespace tenon
