#include "tenon/nn/language/masked_lm.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {
namespace {

constexpr int64_t kRows = 8, kTokens = 500, kVocab = 50, kMask = 49, kBegin = 48;

MaskedLm::Config config() {
  MaskedLm::Config c;
  c.vocab_size = kVocab;
  c.model_dim = 8;
  c.mask_token = kMask;
  c.kept_tokens = {kBegin};
  auto& encoder = c.encoder.as<Decoder>();
  encoder.num_layers = 2;
  auto& layer = encoder.pattern[0].as<DecoderLayer>();
  layer.attention.as<MultiheadAttention>().num_heads = 2;
  layer.feed_forward.as<GatedFeedForward>().hidden_dim = 12;
  return c;
}

// Tokens 0 … 47, every tenth a beginning, the last fifth of a row padding.
Values batch(int64_t rows, int64_t tokens) {
  Values out;
  for (const char* name : {"input_ids", "positions", "segment_ids", "target_labels"}) {
    out.emplace(name, Literal(TensorType{DType::i32, {rows, tokens}}));
  }
  for (int64_t i = 0; i < rows * tokens; ++i) {
    const int64_t t = i % tokens;
    out.at("input_ids").set_int(i, t % 10 == 0 ? kBegin : i * 7 % kBegin);
    out.at("positions").set_int(i, t);
    out.at("segment_ids").set_int(i, t < tokens * 4 / 5 ? 1 : 0);
  }
  return out;
}

Values hide(const MaskedLm& model, const Values& inputs, std::optional<uint64_t> seed) {
  return evaluate({}, inputs, [&](const Nest&, const Nest& b) {
    const Tensor key = seed ? make_key(*seed) : Tensor();
    return functional(model, &MaskedLm::hide, Nest(), key, seed.has_value(), b).result;
  });
}

TEST(MaskedLm, HidesAsToldAndNothingElse) {
  const MaskedLm model(config());
  const Values inputs = batch(kRows, kTokens), hidden = hide(model, inputs, 3);
  EXPECT_EQ(hidden.at("positions"), inputs.at("positions"));
  EXPECT_EQ(hidden.at("segment_ids"), inputs.at("segment_ids"));
  double could = 0, chosen = 0, masked = 0, same = 0;
  for (int64_t i = 0; i < kRows * kTokens; ++i) {
    const int64_t before = inputs.at("input_ids").as_int(i), after = hidden.at("input_ids").as_int(i);
    const int64_t label = hidden.at("target_labels").as_int(i);
    const bool text = before != kBegin && inputs.at("segment_ids").as_int(i) > 0;
    could += text;
    if (label < 0) {
      EXPECT_EQ(after, before);
      EXPECT_EQ(label, -1);
      continue;
    }
    EXPECT_TRUE(text);
    EXPECT_EQ(label, before);
    EXPECT_LT(after, kVocab);
    chosen += 1;
    masked += after == kMask;
    same += after == before;
  }
  // Of 2880 and of 432: within four standard deviations. A random token may be the mask or the same.
  EXPECT_NEAR(chosen / could, 0.15, 0.027);
  EXPECT_NEAR(masked / chosen, 0.8 + 0.1 / kVocab, 0.08);
  EXPECT_NEAR(same / chosen, 0.1 + 0.1 / kVocab, 0.06);
}

TEST(MaskedLm, WhatIsHiddenComesFromTheKeyAlone) {
  const MaskedLm model(config());
  const Values inputs = batch(2, 100);
  EXPECT_EQ(hide(model, inputs, 3), hide(model, inputs, 3));
  EXPECT_NE(hide(model, inputs, 3).at("target_labels"), hide(model, inputs, 4).at("target_labels"));
  EXPECT_EQ(hide(model, inputs, {}), hide(model, inputs, {}));
  EXPECT_NE(hide(model, inputs, {}).at("target_labels"), hide(model, inputs, 3).at("target_labels"));
}

TEST(MaskedLm, LossIsThatOfWhatIsHidden) {
  const MaskedLm model(config());
  const Values inputs = batch(4, 100), state = initial_values(model, 5);
  const Values got = evaluate(state, inputs, [&](const Nest& s, const Nest& b) {
    const auto out = functional(model, &Model::forward, s, make_key(1), true, b).result;
    return Nest{{"sum", out.sum}, {"weight", out.weight}};
  });
  int64_t chosen = 0;
  for (const double label : hide(model, inputs, 1).at("target_labels").to_doubles()) chosen += label >= 0;
  EXPECT_EQ(got.at("weight").as_double(0), static_cast<double>(chosen));
  EXPECT_GT(chosen, 20);
  EXPECT_NEAR(got.at("sum").as_double(0) / static_cast<double>(chosen), std::log(50.0), 0.3);
}

// A token sees what is behind it, and nothing of other segments.
TEST(MaskedLm, LooksBothWays) {
  const MaskedLm model(config());
  const Values state = initial_values(model, 5), inputs = batch(1, 20);
  Values changed = inputs;
  changed.at("input_ids").set_int(15, 3);
  const auto logits = [&](const Values& in) {
    return evaluate(state, in,
                    [&](const Nest& s, const Nest& b) {
                      return Nest{{"logits", functional(model, &MaskedLm::logits, s, Tensor(), false, b).result}};
                    })
        .at("logits")
        .to_doubles();
  };
  const std::vector<double> a = logits(inputs), b = logits(changed);
  EXPECT_NE(a[0], b[0]);
  EXPECT_EQ(a[17 * kVocab], b[17 * kVocab]);
}

TEST(MaskedLm, SumsUpInItsAccuracy) {
  const MaskedLm model(config());
  const Values got = evaluate(initial_values(model, 5), batch(4, 100), [&](const Nest& s, const Nest& b) {
    const auto out = functional(model, &Model::forward, s, Tensor(), false, b);
    return Nest{{"x", out.collected.summaries.at(std::string(model.headline())).value}};
  });
  EXPECT_GE(got.at("x").as_double(0), 0);
  EXPECT_LT(got.at("x").as_double(0), 0.2);  // it hasn't learned
}

TEST(MaskedLm, MistakesAreNamed) {
  MaskedLm::Config c = config();
  c.mask_token = kVocab;
  auto error = error_of([&] { Slot<Model>(c).build(); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), testing::HasSubstr("mask_token: must be below vocab_size"));
  c = config();
  c.kept_tokens = {kBegin, kVocab};
  error = error_of([&] { Slot<Model>(c).build(); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), testing::HasSubstr("kept_tokens: must be below vocab_size"));
  c = config();
  c.shown_as_random = 0.3;
  error = error_of([&] { Slot<Model>(c).build(); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), testing::HasSubstr("shown_as_random"));
}

}  // namespace
}  // namespace tenon
