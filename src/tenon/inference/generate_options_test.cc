#include "tenon/inference/generate_options.h"

#include <gtest/gtest.h>

#include <limits>

#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// The option that is refused; "" when none is.
std::string refused(const GenerateOptions& options, ErrorCode code = ErrorCode::invalid_argument) {
  const auto e = error_of([&] { options.check(259); });
  if (!e) return "";
  EXPECT_EQ(e->code(), code) << e->what();
  return e->path();
}
std::string refused(const SamplingOptions& sampling) { return refused(GenerateOptions{.sampling = sampling}); }

TEST(GenerateOptions, RangesOfSampling) {
  EXPECT_EQ(refused(SamplingOptions{}), "");
  EXPECT_EQ(refused(SamplingOptions{.temperature = 0, .top_k = 300, .top_p = 0.1, .min_p = 1, .seed = -1}), "");
  for (const double bad : {-0.1, kNan, kInf, 1e9}) {
    EXPECT_EQ(refused(SamplingOptions{.temperature = bad}), "temperature");
    EXPECT_EQ(refused(SamplingOptions{.top_p = bad}), "top_p");
    EXPECT_EQ(refused(SamplingOptions{.min_p = bad}), "min_p");
    EXPECT_EQ(refused(SamplingOptions{.repetition_penalty = bad}), "repetition_penalty");
  }
  EXPECT_EQ(refused(SamplingOptions{.top_k = -1}), "top_k");
  EXPECT_EQ(refused(SamplingOptions{.top_p = 0}), "top_p");
  EXPECT_EQ(refused(SamplingOptions{.repetition_penalty = 0}), "repetition_penalty");
}

TEST(GenerateOptions, StopsAreChecked) {
  EXPECT_EQ(refused({.stop = {"\n", "é"}, .stop_tokens = {0, 258}}), "");
  EXPECT_EQ(refused({.stop = {"a", ""}}), "stop");
  EXPECT_EQ(refused({.stop = {"\xff"}}), "stop");
  EXPECT_EQ(refused({.stop_tokens = {259}}), "stop_tokens");
  EXPECT_EQ(refused({.stop_tokens = {-1}}), "stop_tokens");
}

TEST(GenerateOptions, BeamSearchDrawsNothing) {
  EXPECT_EQ(refused({.num_beams = 4, .length_penalty = 0.5}), "");
  EXPECT_EQ(refused({.num_beams = 0}), "num_beams");
  EXPECT_EQ(refused({.num_beams = 65}), "num_beams");
  EXPECT_EQ(refused({.num_beams = 2, .length_penalty = -1}), "length_penalty");
  EXPECT_EQ(refused({.length_penalty = 2}), "length_penalty") << "without beams it would do nothing";
  const auto with = [](const SamplingOptions& sampling) {
    return refused(GenerateOptions{.sampling = sampling, .num_beams = 2}, ErrorCode::unsupported);
  };
  EXPECT_EQ(with({.temperature = 0}), "temperature");
  EXPECT_EQ(with({.top_k = 5}), "top_k");
  EXPECT_EQ(with({.top_p = 0.5}), "top_p");
  EXPECT_EQ(with({.min_p = 0.5}), "min_p");
  EXPECT_EQ(with({.repetition_penalty = 2}), "repetition_penalty");
}

}  // namespace
}  // namespace tenon
