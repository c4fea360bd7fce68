#include "tenon/inference/sampling.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

struct Draw {
  double temperature = 1;
  int64_t top_k = 0, position = 0;
  uint64_t seed = 1;
};

// The tokens chosen for `rows` rows of the same logits.
std::vector<int64_t> sample(const std::vector<double>& logits, int64_t rows, const Draw& draw) {
  const auto V = static_cast<int64_t>(logits.size());
  const Graph graph = make_graph({}, [&](const std::vector<Tensor>&) {
    const Tensor row = constant(Literal::from(DType::f32, {1, V}, std::span<const double>(logits)));
    const Tensor temperature = full({DType::f32, {}}, draw.temperature);
    const Tensor top_k = full({DType::i32, {}}, static_cast<double>(draw.top_k));
    const Tensor position = full({DType::i32, {}}, static_cast<double>(draw.position));
    return std::vector<Tensor>{
        sample_token(broadcast_to(row, {rows, V}), temperature, top_k, make_key(draw.seed), position)};
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
  const auto first = sample(kLogits, 100, {.position = 7, .seed = 3});
  EXPECT_EQ(sample(kLogits, 100, {.position = 7, .seed = 3}), first);
  EXPECT_NE(sample(kLogits, 100, {.position = 8, .seed = 3}), first);
  EXPECT_NE(sample(kLogits, 100, {.position = 7, .seed = 4}), first);
}

TEST(SampleToken, WhatIsNeverSampledIsNot) {
  for (const double temperature : {0.0, 1e-6, 1.0, 1e6}) {
    const auto got = sample({kNeverSampled, -5, kNeverSampled, -60}, 500, {.temperature = temperature});
    const auto p = frequencies(got, 4);
    EXPECT_EQ(p[0] + p[2], 0) << temperature;
  }
}

TEST(SamplingOptions, AreChecked) {
  const auto path_of_error = [](const SamplingOptions& options) {
    const auto e = error_of([&] { options.check(); });
    if (!e) return std::string();
    EXPECT_EQ(e->code(), ErrorCode::invalid_argument);
    return e->path();
  };
  EXPECT_EQ(path_of_error({}), "");
  EXPECT_EQ(path_of_error({.temperature = 0, .top_k = 300, .seed = -1}), "");
  EXPECT_EQ(path_of_error({.temperature = -0.1}), "temperature");
  EXPECT_EQ(path_of_error({.temperature = std::numeric_limits<double>::quiet_NaN()}), "temperature");
  EXPECT_EQ(path_of_error({.temperature = std::numeric_limits<double>::infinity()}), "temperature");
  EXPECT_EQ(path_of_error({.temperature = 1e9}), "temperature");
  EXPECT_EQ(path_of_error({.top_k = -1}), "top_k");
}

}  // namespace
}  // namespace tenon
