#include "tenon/inference/sampling.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"

namespace tenon {
namespace {

// The tokens chosen at `position` for `rows` rows of the same logits, each with a key of its own: row i has the one
// that row first_row + i would have.
std::vector<int64_t> sample(const std::vector<double>& logits, int64_t rows, const SamplingOptions& options,
                            int64_t position = 0, int64_t first_row = 0) {
  const auto V = static_cast<int64_t>(logits.size());
  const Graph graph = make_graph({}, [&](const std::vector<Tensor>&) {
    const Tensor row = constant(Literal::from(DType::f32, {1, V}, std::span<const double>(logits)));
    const Tensor numbers = iota({DType::i32, {rows}}, 0) + static_cast<double>(first_row);
    const Tensor keys = fold_in(make_key(static_cast<uint64_t>(options.seed)), numbers);
    return std::vector<Tensor>{sample_token(broadcast_to(row, {rows, V}), SamplingNumbers(constant(options.packed())),
                                            keys, full({DType::i32, {}}, static_cast<double>(position)))};
  });
  const Literal out = interpret(graph, {})[0];
  EXPECT_EQ(out.type(), (TensorType{DType::i32, {rows}}));
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < rows; ++i) tokens.push_back(out.as_int(i));
  return tokens;
}

std::vector<double> frequencies(const std::vector<int64_t>& tokens, size_t vocab) {
  std::vector<double> out(vocab, 0);
  for (const int64_t t : tokens) out.at(static_cast<size_t>(t)) += 1.0 / static_cast<double>(tokens.size());
  return out;
}

// softmax(logits / temperature) of the `kept` tokens.
std::vector<double> softmax(const std::vector<double>& logits, double temperature, const std::vector<bool>& kept) {
  std::vector<double> out;
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) sum += out.emplace_back(kept[i] ? std::exp(logits[i] / temperature) : 0);
  for (double& p : out) p /= sum;
  return out;
}

constexpr int64_t kRows = 8000;
const std::vector<double> kLogits{1, -0.5, 2, 0.25, -3};

void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  // Four standard deviations of a frequency.
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], 4 * std::sqrt(want[i] * (1 - want[i]) / kRows) + 1e-9) << "token " << i;
  }
}

TEST(SampleToken, FollowsTheSoftmax) {
  const std::vector<bool> all(5, true);
  for (const double temperature : {0.5, 1.0, 3.0}) {
    const auto tokens = sample(kLogits, kRows, {.temperature = temperature});
    expect_near(frequencies(tokens, 5), softmax(kLogits, temperature, all));
  }
}

TEST(SampleToken, TopKKeepsTheMostLikely) {
  const auto tokens = sample(kLogits, kRows, {.top_k = 3});
  expect_near(frequencies(tokens, 5), softmax(kLogits, 1, {true, false, true, true, false}));
  EXPECT_EQ(sample(kLogits, 50, {.top_k = 5}), sample(kLogits, 50, {}));
  EXPECT_EQ(sample(kLogits, 50, {.top_k = 1000000}), sample(kLogits, 50, {}));
  EXPECT_EQ(sample(kLogits, 50, {.temperature = 100, .top_k = 1}), std::vector<int64_t>(50, 2));
}

TEST(SampleToken, TiesWithTheLastOfTheTopStayIn) {
  const auto got = frequencies(sample({0, 1, 0, 0}, 400, {.top_k = 2}), 4);
  for (const double p : got) EXPECT_GT(p, 0.05);
}

TEST(SampleToken, TemperatureZeroIsTheMostLikely) {
  EXPECT_EQ(sample(kLogits, 20, {.temperature = 0}), std::vector<int64_t>(20, 2));
  EXPECT_EQ(sample(kLogits, 20, {.temperature = 1e-30}), std::vector<int64_t>(20, 2));
}

TEST(SampleToken, DependsOnSeedAndPositionAlone) {
  const auto first = sample(kLogits, 100, {.seed = 3}, 7);
  EXPECT_EQ(sample(kLogits, 100, {.seed = 3}, 7), first);
  EXPECT_NE(sample(kLogits, 100, {.seed = 3}, 8), first);
  EXPECT_NE(sample(kLogits, 100, {.seed = 4}, 7), first);
}

TEST(SampleToken, RowsDontKnowOfEachOther) {
  const auto all = sample(kLogits, 100, {.seed = 3}, 7);
  for (const int64_t row : {0, 41, 99}) {
    EXPECT_EQ(sample(kLogits, 1, {.seed = 3}, 7, row)[0], all[static_cast<size_t>(row)]);
  }
}

// Which of kLogits's tokens are drawn at all, in 2000 draws.
std::vector<bool> drawn(const SamplingOptions& options, const std::vector<double>& logits = kLogits) {
  std::vector<bool> out;
  for (const double p : frequencies(sample(logits, 2000, options), logits.size())) out.push_back(p > 0);
  return out;
}

// kLogits's probabilities: 0.2256, 0.0503, 0.6133, 0.1066, 0.0041; in descending order the sums are 0.6133, 0.8390,
// 0.9455, 0.9959, 1.
TEST(SampleToken, TopPKeepsTheFewestThatHaveTheProbability) {
  EXPECT_EQ(drawn({.top_p = 0.01}), (std::vector<bool>{false, false, true, false, false}));
  EXPECT_EQ(drawn({.top_p = 0.6}), (std::vector<bool>{false, false, true, false, false}));
  EXPECT_EQ(drawn({.top_p = 0.62}), (std::vector<bool>{true, false, true, false, false}));
  EXPECT_EQ(drawn({.top_p = 0.85}), (std::vector<bool>{true, false, true, true, false}));
  const auto tokens = sample(kLogits, kRows, {.top_p = 0.9});
  expect_near(frequencies(tokens, 5), softmax(kLogits, 1, {true, false, true, true, false}));
  EXPECT_EQ(sample(kLogits, 500, {.top_p = 0.99999}), sample(kLogits, 500, {}));
}

TEST(SampleToken, TopPIsOfTheTemperatureAndOfWhatTopKLeaves) {
  // At temperature 3: 0.2472, 0.1500, 0.3451, 0.1926, 0.0652.
  EXPECT_EQ(drawn({.temperature = 3, .top_p = 0.62}), (std::vector<bool>{true, false, true, true, false}));
  // Of the two most likely the first has 0.7311.
  EXPECT_EQ(drawn({.top_k = 2, .top_p = 0.73}), (std::vector<bool>{false, false, true, false, false}));
  EXPECT_EQ(drawn({.top_k = 2, .top_p = 0.74}), (std::vector<bool>{true, false, true, false, false}));
}

TEST(SampleToken, TiesWithTheLastOfTopPStayIn) {
  EXPECT_EQ(drawn({.top_p = 0.5}, {1, 1, 1, -9}), (std::vector<bool>{true, true, true, false}));
}

// Relative to the most likely token: 0.3679, 0.0821, 1, 0.1738, 0.0067.
TEST(SampleToken, MinPIsRelativeToTheMostLikely) {
  EXPECT_EQ(drawn({.min_p = 0.36}), (std::vector<bool>{true, false, true, false, false}));
  EXPECT_EQ(drawn({.min_p = 0.38}), (std::vector<bool>{false, false, true, false, false}));
  EXPECT_EQ(drawn({.min_p = 1}), (std::vector<bool>{false, false, true, false, false}));
  // The square root of them at temperature 2.
  EXPECT_EQ(drawn({.temperature = 2, .min_p = 0.38}), (std::vector<bool>{true, false, true, true, false}));
  // top_p is of what min_p leaves: 0.7311 and 0.2689.
  EXPECT_EQ(drawn({.top_p = 0.73, .min_p = 0.36}), (std::vector<bool>{false, false, true, false, false}));
  const auto tokens = sample(kLogits, kRows, {.min_p = 0.1});
  expect_near(frequencies(tokens, 5), softmax(kLogits, 1, {true, false, true, true, false}));
}

TEST(PenalizeRepetition, MovesLogitsOfWhatWasThere) {
  const Graph graph = make_graph({}, [&](const std::vector<Tensor>&) {
    const auto row = [](std::vector<double> x) { return constant(Literal::from(DType::f32, {2, 3}, x)); };
    return std::vector<Tensor>{
        penalize_repetition(row({2, -1, 3, 2, -1, 0}), row({1, 4, 0, 0, 0, 7}), full({DType::f32, {}}, 2))};
  });
  EXPECT_EQ(interpret(graph, {})[0].to_doubles(), (std::vector<double>{1, -2, 3, 2, -1, 0}));
}

TEST(SampleToken, WhatIsNeverSampledIsNot) {
  for (const double temperature : {0.0, 1e-6, 1.0, 1e6}) {
    const auto got = sample({kNeverSampled, -5, kNeverSampled, -60}, 500, {.temperature = temperature});
    const auto p = frequencies(got, 4);
    EXPECT_EQ(p[0] + p[2], 0) << temperature;
  }
}

}  // namespace
}  // namespace tenon
