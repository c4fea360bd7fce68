#include "tenon/nn/dot/lora.h"

#include <gmock/gmock.h>

#include "tenon/config/modify.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/dot/quantized_dot.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/tiny_lm.h"

namespace tenon {
namespace {

Linear linear_with(const LoRA::Config& lora) {
  Linear::Config c;
  c.input_dim = 3;
  c.output_dim = 2;
  c.bias = true;
  c.dot = lora;
  return Linear(c);
}

Literal array(const Dims& dims, const std::vector<double>& values) { return Literal::from(DType::f32, dims, values); }

Literal apply(const Linear& linear, const Values& state, const Literal& x, bool training, uint64_t seed = 1) {
  return evaluate(state, {{"x", x}},
                  [&](const Nest& s, const Nest& in) {
                    const Tensor key = make_key(seed);
                    return Nest{{"y", functional(linear, &Linear::forward, s, key, training, in.at("x")).result}};
                  })
      .at("y");
}

// x = (1, 2, 3): x W = (7, 9), x A = 1 * 1 + 2 * 0 + 3 * 2 = 7, alpha / rank = 3.
TEST(LoRA, AddsTheScaledProductOfTwoThinMatrices) {
  LoRA::Config config;
  config.rank = 1;
  config.alpha = 3;
  const Linear linear = linear_with(config);
  Values state{{"weight", array({3, 2}, {1, 0, 0, 3, 2, 1})},
               {"bias", array({2}, {10, 20})},
               {"dot.lora_a", array({3, 1}, {1, 0, 2})},
               {"dot.lora_b", array({1, 2}, {1, -1})}};
  const Literal x = array({1, 3}, {1, 2, 3});
  EXPECT_EQ(apply(linear, state, x, true).to_doubles(), (std::vector<double>{10 + 7 + 21, 20 + 9 - 21}));
  state.at("dot.lora_b") = initial_values(linear, 1).at("dot.lora_b");
  EXPECT_EQ(apply(linear, state, x, true).to_doubles(), (std::vector<double>{17, 29})) << "zero at the start";
}

TEST(LoRA, DropsInputsInTrainingOnlyAndKeepsTheirMean) {
  LoRA::Config config;
  config.rank = 1;
  config.alpha = 1;
  config.dropout = 0.25;
  const Linear linear = linear_with(config);
  const Values state{{"weight", array({3, 2}, std::vector<double>(6, 0))},
                     {"bias", array({2}, {0, 0})},
                     {"dot.lora_a", array({3, 1}, {1, 0, 0})},
                     {"dot.lora_b", array({1, 2}, {1, 1})}};
  const Literal x = array({400, 3}, std::vector<double>(1200, 1));
  const std::vector<double> all = apply(linear, state, x, false).to_doubles();
  EXPECT_EQ(all, std::vector<double>(800, 1));
  const std::vector<double> some = apply(linear, state, x, true).to_doubles();
  int kept = 0;
  for (size_t i = 0; i < some.size(); i += 2) {
    EXPECT_TRUE(some[i] == 0 || std::abs(some[i] - 4.0 / 3) < 1e-6);
    kept += some[i] != 0;
  }
  EXPECT_NEAR(kept, 300, 45) << "five standard deviations";
}

Literal logits(const CausalLm& model, const Values& state, const Values& batch) {
  return evaluate(state, batch,
                  [&](const Nest& s, const Nest& in) {
                    return Nest{{"y", functional(model, &CausalLm::logits, s, Tensor(), false, in).result}};
                  })
      .at("y");
}

// A model with adapters computes what the model computes whose weights they were added to; adapters over rounded
// products leave the products' histories where that model has them.
TEST(LoRA, MergedModelsComputeTheSame) {
  for (const StackForm form : {StackForm::unroll, StackForm::scan}) {
    CausalLm::Config plain = tiny_lm(form), adapted = plain;
    wrap<Dot>(adapted, LoRA::Config{}, "dot");
    const CausalLm with(adapted), without(plain);
    Values state = initial_values(with, 5);
    for (auto& [name, value] : state) {
      if (!name.ends_with("lora_b")) continue;
      for (int64_t i = 0; i < value.size(); ++i) value.set(i, 0.01 * static_cast<double>(i % 7 - 3));
    }
    const Values merged = evaluate(state, {}, [&](const Nest& s, const Nest&) { return merge_lora(with, s); });
    const Values base = initial_values(without, 5);
    ASSERT_EQ(merged.size(), base.size());
    for (const auto& [name, value] : base) EXPECT_EQ(merged.at(name).dims(), value.dims()) << name;
    const Values batch = packed_batch({{5, 4}, {7}}, 11, 1);
    const Literal want = logits(with, state, batch);
    EXPECT_EQ(difference(logits(without, merged, batch), want, 1e-5), "");
    EXPECT_NE(difference(logits(without, base, batch), want, 1e-3), "") << "the adapters do something";
  }
}

TEST(LoRA, MergingLeavesTheInnerDotsStates) {
  LoRA::Config outer, inner;
  inner.dot = Fp8Dot::Config{};
  outer.dot = inner;
  const Linear linear = linear_with(outer);
  const Values merged =
      evaluate(initial_values(linear, 1), {}, [&](const Nest& s, const Nest&) { return merge_lora(linear, s); });
  std::vector<std::string> names;
  for (const auto& [name, value] : merged) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"bias", "dot.gradient_amax", "dot.input_amax", "dot.weight_amax", "weight"}));
}

TEST(LoRA, SplitsWithTheWeight) {
  const Linear linear = linear_with(LoRA::Config{});
  std::map<std::string, std::string> partitions;
  for (const ParamInfo& info : describe_state(linear)) partitions[info.path] = to_string(info.partition);
  EXPECT_EQ(partitions.at("dot.lora_a"), "fsdp,-");
  EXPECT_EQ(partitions.at("dot.lora_b"), "-,model");
  EXPECT_EQ(partitions.size(), 4u);
}

TEST(LoRA, ChecksItsRanges) {
  LoRA::Config config;
  config.rank = 0;
  config.dropout = 1;
  const auto error = error_of([&] { linear_with(config); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), ::testing::HasSubstr("at dot: 2 problems: rank must be positive"));
  EXPECT_THAT(error->what(), ::testing::HasSubstr("dropout"));
}

}  // namespace
}  // namespace tenon
