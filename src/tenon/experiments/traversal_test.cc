// A modifier changes an experiment as a hand would.
#include <gmock/gmock.h>

#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/config/define.h"
#include "tenon/config/modifier.h"
#include "tenon/config/modify.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/resolve.h"
#include "tenon/nn/experts/mixture_of_experts.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/trainer/trace_step.h"

namespace tenon {

// Two modifiers of a user's. Rotary positions in every attention that has none:
struct AddRope {
  double theta = 10000;
  TENON_FN(theta)
  void operator()(AnyConfig& tree) const {
    RotaryQkv::Config rope;
    rope.theta = theta;
    wrap<LinearQkv>(tree, rope, "projection");
  }
};
TENON_FN_TYPE(AddRope, void(AnyConfig&), "rotary positions", {"theta", "base of the wavelengths"})
// And a mixture of experts in the place of every feed-forward:
struct UseExperts {
  int64_t num_experts = 8;
  TENON_FN(num_experts)
  void operator()(AnyConfig& tree) const {
    MixtureOfExperts::Config mixture;
    mixture.num_experts = num_experts;
    replace<FeedForward>(tree, mixture);
  }
};
TENON_FN_TYPE(UseExperts, void(AnyConfig&), "a mixture of experts", {"num_experts", "how many"})
// They end here.

namespace {

using ::testing::HasSubstr;

const char* const kExperiments[] = {"austen",
                                    "austen_tiny",
                                    "llama1_7b",
                                    "llama1_65b",
                                    "llama2_13b",
                                    "llama2_70b",
                                    "llama2_test",
                                    "llama3_test",
                                    "llama3_8b",
                                    "llama3_405b",
                                    "llama3_70b-single_host"};

class TraversalTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  TraversalTest() { register_experiments(experiments_); }
  Trainer::Config config(const std::string& name) const { return resolve(experiments_.find(name), {}).config; }

  // The same text, and the same traced program, for eight devices.
  static void expect_same(const Trainer::Config& a, const Trainer::Config& b, const std::string& name) {
    EXPECT_EQ(to_toml(a), to_toml(b)) << name;
    const std::string program = trace_train_step(a, 8).step.program.text;
    EXPECT_FALSE(program.empty());
    EXPECT_EQ(program, trace_train_step(b, 8).step.program.text) << name;
  }
  ExperimentRegistry experiments_;
};

MultiheadAttention::Config& attention_of(Trainer::Config& config) {
  auto& decoder = config.model.as<CausalLm>().decoder.as<Decoder>();
  return decoder.pattern.at(0).as<DecoderLayer>().attention.as<MultiheadAttention>();
}

TEST_F(TraversalTest, ReplaceIsWhatAHandDoes) {
  for (const char* name : kExperiments) {
    Trainer::Config walked = config(name), by_hand = config(name);
    EXPECT_EQ(replace<AttentionCore>(walked, DotProductAttention::Config{}), 1);
    attention_of(by_hand).core = DotProductAttention::Config{};
    expect_same(walked, by_hand, name);
    EXPECT_NE(to_toml(walked), to_toml(config(name)));
  }
}

TEST_F(TraversalTest, AModifierOfTenLinesBringsRopeToEveryExperiment) {
  for (const char* name : kExperiments) {
    Trainer::Config before = config(name), without = before;
    replace<RotaryQkv>(without, LinearQkv::Config{});
    EXPECT_EQ(to_toml(without).find("Rotary"), std::string::npos);
    modify(without, AddRope{.theta = attention_of(before).qkv.as<RotaryQkv>().theta});
    EXPECT_EQ(to_toml(without), to_toml(before)) << name;
  }
}

TEST_F(TraversalTest, AModifierOfTenLinesBringsExpertsToEveryExperiment) {
  for (const char* name : kExperiments) {
    Trainer::Config modified = config(name), by_hand = config(name);
    EXPECT_THAT(to_string(modify(modified, UseExperts{.num_experts = 4})), HasSubstr("\"MixtureOfExperts\"")) << name;
    auto& layer = by_hand.model.as<CausalLm>().decoder.as<Decoder>().pattern.at(0).as<DecoderLayer>();
    MixtureOfExperts::Config mixture;
    mixture.num_experts = 4;
    layer.feed_forward = mixture;
    expect_same(modified, by_hand, name);
  }
}

TEST_F(TraversalTest, ThoseModifiersHaveTenLinesEach) {
  const std::string file = std::string(TENON_SOURCE_DIR) + "/src/tenon/experiments/traversal_test.cc";
  const std::string text = read_file(file).value();
  const size_t rope = text.find("struct AddRope {"), experts = text.find("// And a mixture"),
               end = text.find("// They end here.");
  ASSERT_NE(end, std::string::npos);
  const auto lines = [&](size_t from, size_t to) { return split(text.substr(from, to - from), '\n').size() - 1; };
  EXPECT_LE(lines(rope, experts), 10u);
  EXPECT_LE(lines(text.find("struct UseExperts {"), end), 10u);
}

}  // namespace
}  // namespace tenon
