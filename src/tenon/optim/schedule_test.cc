#include "tenon/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/config/define.h"
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
