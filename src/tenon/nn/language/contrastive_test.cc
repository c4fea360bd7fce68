#include "tenon/nn/language/contrastive.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/tiny_lm.h"

namespace tenon {
namespace {

ContrastivePairs::Config config() {
  ContrastivePairs::Config c;
  c.vocab_size = 11;
  auto& text = c.encoder.as<TextEncoder>();
  text.model_dim = 8;
  text.embedding_dim = 6;
  auto& encoder = text.encoder.as<Decoder>();
  encoder.num_layers = 2;
  auto& layer = encoder.pattern[0].as<DecoderLayer>();
  layer.attention.as<MultiheadAttention>().num_heads = 2;
  layer.feed_forward.as<GatedFeedForward>().hidden_dim = 12;
  return c;
}

// The second row has an empty second half, the third ends early.
Values pairs_batch() {
  Values out = packed_batch({{8}, {3}, {6}, {8}}, 11, 4);
  return out;
}

Values run(const ContrastivePairs& model, const Values& state, const Values& inputs) {
  return evaluate(state, inputs, [&](const Nest& s, const Nest& b) {
    const auto out = functional(model, &Model::forward, s, Tensor(), true, b);
    Nest results{{"sum", out.result.sum}, {"weight", out.result.weight}};
    results.emplace("temperature", out.collected.summaries.at("temperature").value);
    return results;
  });
}

std::vector<double> vectors(const ContrastivePairs& model, const Values& state, const Values& inputs, bool second) {
  return evaluate(state, inputs,
                  [&](const Nest& s, const Nest& b) {
                    const auto encode =
                        static_cast<Tensor (ContrastivePairs::*)(const Nest&, bool) const>(&ContrastivePairs::encode);
                    return Nest{{"x", functional(model, encode, s, Tensor(), false, b, second).result}};
                  })
      .at("x")
      .to_doubles();
}

Values half_of(const Values& inputs, int64_t first) {
  Values out;
  for (const auto& [name, value] : inputs) {
    Literal half(TensorType{DType::i32, {4, 4}});
    for (int64_t i = 0; i < 16; ++i) half.set_int(i, value.as_int(i / 4 * 8 + first + i % 4));
    out.emplace(name, std::move(half));
  }
  return out;
}

// By hand, from the vectors of both halves.
TEST(ContrastivePairs, IsTheLossOfItsVectors) {
  for (const bool shared : {true, false}) {
    ContrastivePairs::Config c = config();
    if (!shared) c.second_encoder = c.encoder;
    const ContrastivePairs model(c);
    const Values state = initial_values(model, 3);
    EXPECT_EQ(state.contains("second_encoder.projection.weight"), !shared);
    const std::vector<double> a = vectors(model, state, half_of(pairs_batch(), 0), false);
    const std::vector<double> b = vectors(model, state, half_of(pairs_batch(), 4), true);
    const std::vector<size_t> live{0, 2, 3};
    const auto near = [&](size_t i, size_t j) {
      double sum = 0;
      for (size_t e = 0; e < 6; ++e) sum += a[i * 6 + e] * b[j * 6 + e];
      return sum / 0.07;
    };
    double want = 0;
    for (const size_t i : live) {
      double rows = 0, columns = 0, length = 0;
      for (const size_t j : live) {
        rows += std::exp(near(i, j));
        columns += std::exp(near(j, i));
      }
      want += (std::log(rows) + std::log(columns)) / 2 - near(i, i);
      for (size_t e = 0; e < 6; ++e) length += a[i * 6 + e] * a[i * 6 + e];
      EXPECT_NEAR(length, 1, 1e-5);
    }
    const Values got = run(model, state, pairs_batch());
    EXPECT_EQ(got.at("weight").as_double(0), 3);
    EXPECT_NEAR(got.at("sum").as_double(0), want, 1e-4);
    EXPECT_NEAR(got.at("temperature").as_double(0), 0.07, 1e-6);
  }
}

TEST(ContrastivePairs, PaddingIsNotRead) {
  const ContrastivePairs model(config());
  const Values state = initial_values(model, 3);
  Values changed = pairs_batch();
  for (const int64_t i : {8 + 3, 8 + 7, 16 + 6}) changed.at("input_ids").set_int(i, 9);
  EXPECT_EQ(run(model, state, changed), run(model, state, pairs_batch()));
  changed.at("input_ids").set_int(16 + 5, (changed.at("input_ids").as_int(16 + 5) + 1) % 11);
  EXPECT_NE(run(model, state, changed), run(model, state, pairs_batch()));
}

TEST(ContrastivePairs, TemperatureHasALeast) {
  const ContrastivePairs model(config());
  Values state = initial_values(model, 3);
  state.at("log_scale") = Literal::scalar(DType::f32, 7);
  EXPECT_NEAR(run(model, state, pairs_batch()).at("temperature").as_double(0), 0.01, 1e-6);
}

TEST(ContrastivePairs, CountsPairs) {
  const ContrastivePairs model(config());
  EXPECT_EQ(model.unit(), "pairs");
  const Values got = evaluate(initial_values(model, 3), pairs_batch(), [&](const Nest& s, const Nest& b) {
    const auto out = functional(model, &Model::forward, s, Tensor(), false, b);
    return Nest{{"x", out.collected.summaries.at(std::string(model.headline())).value}};
  });
  EXPECT_NEAR(std::remainder(got.at("x").as_double(0) * 3, 1), 0, 1e-6);  // so many of three
}

TEST(ContrastivePairs, MistakesAreNamed) {
  const ContrastivePairs model(config());
  auto error = error_of([&] { run(model, initial_values(model, 3), packed_batch({{7}, {5}}, 11, 1)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(error->path(), "input_ids");
  ContrastivePairs::Config c = config();
  c.temperature = 0.001;
  error = error_of([&] { Slot<Model>(c).build(); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), testing::HasSubstr("temperature"));
}

}  // namespace
}  // namespace tenon
