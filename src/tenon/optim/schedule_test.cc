#include "tenon/optim/schedule.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/optim/learner.h"

namespace tenon {
namespace {

TEST(Schedule, CosineRisesToThePeakAndFallsToItsFinalPart) {
  const CosineWithWarmup f{.peak = 2, .warmup_steps = 4, .total_steps = 12, .final_ratio = 0.1};
  EXPECT_DOUBLE_EQ(f(0), 0.5);
  EXPECT_DOUBLE_EQ(f(1), 1.0);
  EXPECT_DOUBLE_EQ(f(3), 2.0);
  EXPECT_DOUBLE_EQ(f(7), 1.1);  // half way: the mean of 2 and 0.2
  EXPECT_NEAR(f(5), 0.2 + 1.8 * 0.5 * (1 + std::sqrt(0.5)), 1e-12);
  EXPECT_DOUBLE_EQ(f(11), 0.2);
  EXPECT_DOUBLE_EQ(f(1000000), 0.2);
}

TEST(Schedule, NoWarmupStartsJustBelowThePeak) {
  const CosineWithWarmup f{.peak = 1, .warmup_steps = 0, .total_steps = 2, .final_ratio = 0};
  EXPECT_DOUBLE_EQ(f(0), 0.5);
  EXPECT_NEAR(f(1), 0, 1e-15);
}

TEST(Schedule, WarmupOnly) {
  const ConstantWithWarmup f{.peak = 3, .warmup_steps = 3};
  EXPECT_DOUBLE_EQ(f(0), 1);
  EXPECT_DOUBLE_EQ(f(2), 3);
  EXPECT_DOUBLE_EQ(f(99), 3);
}

TEST(Schedule, LineIsALine) {
  const LinearWithWarmup f{.peak = 2, .warmup_steps = 2, .total_steps = 6, .final_ratio = 0.5};
  const std::vector<double> want{1, 2, 1.75, 1.5, 1.25, 1, 1, 1};
  for (size_t s = 0; s < want.size(); ++s) EXPECT_DOUBLE_EQ(f(static_cast<int64_t>(s)), want[s]) << s;
}

TEST(Schedule, StableThenDown) {
  WarmupStableDecay f{.peak = 4, .warmup_steps = 2, .decay_steps = 4, .total_steps = 10, .final_ratio = 0};
  const std::vector<double> want{2, 4, 4, 4, 4, 4, 3, 2, 1, 0, 0};
  for (size_t s = 0; s < want.size(); ++s) EXPECT_DOUBLE_EQ(f(static_cast<int64_t>(s)), want[s]) << s;
  f.decay = DecayShape::sqrt;
  EXPECT_DOUBLE_EQ(f(5), 4);
  EXPECT_DOUBLE_EQ(f(6), 2);  // 1 - sqrt(1/4)
  EXPECT_DOUBLE_EQ(f(9), 0);
}

TEST(Schedule, InverseSqrtFallsFromItsPeak) {
  const InverseSqrtWithWarmup f{.peak = 3, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(f(0), 0.75);
  EXPECT_DOUBLE_EQ(f(3), 3);
  EXPECT_DOUBLE_EQ(f(15), 1.5);
  EXPECT_DOUBLE_EQ(f(99), 0.6);
}

TEST(Schedule, StepsAtBoundaries) {
  const Stepwise f{.peak = 2, .warmup_steps = 2, .boundaries = {3, 5}, .ratios = {0.5, 0.25}};
  const std::vector<double> want{1, 2, 2, 1, 1, 0.5, 0.5};
  for (size_t s = 0; s < want.size(); ++s) EXPECT_DOUBLE_EQ(f(static_cast<int64_t>(s)), want[s]) << s;
}

TEST(Schedule, WhatDoesntFitIsRefused) {
  const auto field_refused = [](const Schedule& schedule) -> std::string {
    Learner::Config config;
    config.learning_rate = schedule;
    const auto e = error_of([&] { build(config); });
    if (!e) return "";
    return std::string(e->what());
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(field_refused(LinearWithWarmup{.warmup_steps = 9, .total_steps = 8}), HasSubstr("warmup_steps"));
  EXPECT_THAT(field_refused(WarmupStableDecay{.warmup_steps = 5, .decay_steps = 6, .total_steps = 10}),
              HasSubstr("decay_steps"));
  EXPECT_THAT(field_refused(InverseSqrtWithWarmup{.warmup_steps = 0}), HasSubstr("warmup_steps"));
  EXPECT_THAT(field_refused(Stepwise{.boundaries = {3}, .ratios = {}}), HasSubstr("ratios"));
  EXPECT_THAT(field_refused(Stepwise{.boundaries = {3, 3}, .ratios = {1, 1}}), HasSubstr("boundaries"));
  EXPECT_THAT(field_refused(ConstantWithWarmup{.peak = INFINITY}), HasSubstr("peak"));
  EXPECT_EQ(field_refused(Stepwise{.boundaries = {3, 4}, .ratios = {1, 0}}), "");
}

TEST(Schedule, ChecksNameTheField) {
  Learner::Config config;
  config.learning_rate = CosineWithWarmup{.peak = 1, .warmup_steps = 20, .total_steps = 10};
  try {
    build(config);
    FAIL() << "nothing thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(e.what()).find("learning_rate.warmup_steps"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tenon
