// Whole runs with linear layers in 8 bits and with adapters.
#include <gmock/gmock.h>

#include "tenon/checkpoint/checkpoint.h"
#include "tenon/config/modify.h"
#include "tenon/config/registry.h"
#include "tenon/data/text_dataset.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/dot/lora.h"
#include "tenon/nn/dot/quantized_dot.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/nn/register.h"
#include "tenon/nn/testing/evaluate.h"
#include "tenon/optim/learner.h"
#include "tenon/optim/modifiers.h"
#include "tenon/trainer/gradients.h"
#include "tenon/trainer/test_run.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

class QuantizedRunTest : public RunTest {
 protected:
  static void SetUpTestSuite() { register_nn(Registry::global()); }
  // A language model of bytes: one layer, 16 wide.
  Trainer::Config lm_config(int64_t steps) const {
    CausalLm::Config model;
    model.vocab_size = kVocab;
    model.model_dim = 16;
    Decoder::Config& decoder = model.decoder.as<Decoder>();
    decoder.num_layers = 2;
    DecoderLayer::Config& layer = decoder.pattern[0].as<DecoderLayer>();
    layer.attention.as<MultiheadAttention>().num_heads = 2;
    layer.feed_forward.as<GatedFeedForward>().hidden_dim = 48;
    Trainer::Config out = config(steps);
    out.model = model;
    out.learner.as<Learner>().learning_rate = 0.02;
    out.data.as<TextDataset>().eval_fraction = 0;  // one program less to compile
    return out;
  }
  static Trainer::Config with_dot(Trainer::Config config, const AnyConfig& dot) {
    replace<Dot>(config, dot);
    return config;
  }
};

// At a learning rate that doesn't amplify differences; a third of a percent was seen.
TEST_F(QuantizedRunTest, SlowLearnAsWellAsF32) {
  Trainer::Config config = lm_config(30);
  config.learner.as<Learner>().learning_rate = 0.01;
  const double plain = run("plain", config).train_loss;
  EXPECT_LT(plain, 3) << "from ln 259 = 5.6";
  const double int8 = run("int8", with_dot(config, Int8Dot::Config{})).train_loss;
  const double fp8 = run("fp8", with_dot(config, Fp8Dot::Config{})).train_loss;
  EXPECT_NEAR(int8 / plain, 1, 0.01);
  EXPECT_NEAR(fp8 / plain, 1, 0.01);
  EXPECT_NE(int8, plain);
  EXPECT_NE(fp8, plain);
}

// Magnitudes are those of whole arrays, however they lie on devices.
TEST_F(QuantizedRunTest, SlowTwoDevicesScaleAsOneDoes) {
  Trainer::Config c = with_dot(lm_config(2), Fp8Dot::Config{});
  run("one", c);
  c.mesh.data = 1;
  c.mesh.fsdp = 2;
  run("two", c, 2);
  const auto got = losses(path("two")), want = losses(path("one"));
  ASSERT_EQ(got.size(), 2U);
  for (const auto& [step, loss] : want) EXPECT_NEAR(std::stod(got.at(step)) / std::stod(loss), 1, 1e-3) << step;
  const auto one = OpenedCheckpoint::open(path("one/" + step_dir_name(2))).value();
  const auto two = OpenedCheckpoint::open(path("two/" + step_dir_name(2))).value();
  int histories = 0;
  for (const std::string& name : one.names()) {
    if (!name.ends_with("_amax")) continue;
    EXPECT_EQ(difference(two.read(name).value(), one.read(name).value(), 0.02), "") << name;
    ++histories;
  }
  EXPECT_EQ(histories, 2 * 7 * 3);
}

TEST_F(QuantizedRunTest, HistoriesAreSavedAndResumedToTheBit) {
  run("unbroken", with_dot(lm_config(6), Fp8Dot::Config{}));
  run("broken", with_dot(lm_config(3), Fp8Dot::Config{}));
  run("broken", with_dot(lm_config(6), Fp8Dot::Config{}));
  EXPECT_EQ(losses(path("broken")), losses(path("unbroken")));
  const OpenedCheckpoint saved = OpenedCheckpoint::open(path("broken/" + step_dir_name(6))).value();
  for (const char* name : {"input_amax", "weight_amax", "gradient_amax"}) {
    const std::string whole = std::string("decoder.layers.1.feed_forward.down.dot.") + name;
    const std::vector<double> history = saved.read(whole).value().to_doubles();
    ASSERT_EQ(history.size(), 16u);
    for (size_t i = 0; i < history.size(); ++i) EXPECT_EQ(history[i] > 0, i < 6) << whole << " " << i;
  }
}

// Two microbatches push two entries, the second's in front; the gradients don't meet in between.
TEST_F(QuantizedRunTest, MicrobatchesCarryHistoriesInOrder) {
  const Trainer::Config config = with_dot(lm_config(1), Fp8Dot::Config{});
  const std::unique_ptr<Model> model = config.model.build();
  const Values start = initial_values(*model, 1);
  // Example i goes to microbatch i mod 2.
  const TensorType type{DType::i32, {2, 4}};
  Values batch;
  for (const char* name : {"input_ids", "positions", "segment_ids", "target_labels"})
    batch.emplace(name, Literal(type));
  for (int64_t i = 0; i < 8; ++i) {
    batch.at("input_ids").set_int(i, 7 * i % 50);
    batch.at("target_labels").set_int(i, 3 * i % 50);
    batch.at("positions").set_int(i, i % 4);
    batch.at("segment_ids").set_int(i, 1);
  }
  const auto states_after = [&](const Values& before, const Values& examples, int64_t accumulation) {
    return evaluate(before, examples, [&](const Nest& s, const Nest& in) {
      Nest params, states;
      for (const ParamInfo& info : describe_state(*model)) {
        (info.trainable ? params : states).emplace(info.path, s.at(info.path));
      }
      return gradients(*model, params, states, in, make_key(1), accumulation).states;
    });
  };
  const auto row = [&](int64_t i) {
    Values one;
    for (const auto& [name, value] : batch) {
      Literal part(TensorType{DType::i32, {1, 4}});
      for (int64_t t = 0; t < 4; ++t) part.set_int(t, value.as_int(i * 4 + t));
      one.emplace(name, part);
    }
    return one;
  };
  const Values together = states_after(start, batch, 2);
  Values first = start;
  for (const auto& [name, value] : states_after(start, row(0), 1)) first.at(name) = value;
  const Values second = states_after(first, row(1), 1);
  ASSERT_EQ(together.size(), 3u * 7);
  for (const auto& [name, value] : second) {
    EXPECT_EQ(difference(together.at(name), value, 1e-5), "") << name;
    EXPECT_GT(value.as_double(1), 0) << name;
    EXPECT_NE(value.as_double(0) == value.as_double(1), name.find("weight") == std::string::npos) << name;
  }
}

TEST_F(QuantizedRunTest, AdaptersAloneAreTrained) {
  Trainer::Config c = lm_config(4);
  c.save_every_n_steps = 1;
  c.keep.last_n = 4;
  AddLoRA{.rank = 2, .alpha = 4, .within = "model.decoder"}(c);
  run("run", c);
  const auto first = OpenedCheckpoint::open(path("run/" + step_dir_name(1))).value();
  const auto last = OpenedCheckpoint::open(path("run/" + step_dir_name(4))).value();
  int moved = 0, kept = 0, moments = 0;
  for (const std::string& name : last.names()) {
    if (name.starts_with("learner.")) {
      moments += name.find(".lora_") != std::string::npos;
      EXPECT_TRUE(name.find(".lora_") != std::string::npos || name.find("skipped") != std::string::npos) << name;
      continue;
    }
    const bool adapter = name.find(".lora_") != std::string::npos;
    EXPECT_EQ(last.read(name).value() != first.read(name).value(), adapter) << name;
    (adapter ? moved : kept) += 1;
  }
  EXPECT_EQ(moved, 2 * 7 * 2);
  EXPECT_EQ(moments, 2 * moved);
  EXPECT_GT(kept, 2 * 7);
}

TEST_F(QuantizedRunTest, ACheckpointWithoutAdaptersIsRefusedByName) {
  run("run", lm_config(2));
  Trainer::Config c = lm_config(4);
  wrap<Dot>(c, LoRA::Config{}, "dot");
  const Error error = failure("run", c);
  EXPECT_EQ(error.code(), ErrorCode::incompatible);
  EXPECT_THAT(error.what(), HasSubstr("decoder.layers.0.attention.output.dot.lora_a"));
}

}  // namespace
}  // namespace tenon
