// What modules refuse of numbers that nothing can be computed with.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tenon/config/validate.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/attention/attention_core.h"
#include "tenon/nn/basic/embedding.h"
#include "tenon/nn/basic/norm.h"
#include "tenon/nn/dot/lora.h"
#include "tenon/nn/experts/router.h"
#include "tenon/nn/language/distilled_lm.h"
#include "tenon/nn/position/position_embedding.h"
#include "tenon/nn/position/rotary.h"
#include "tenon/nn/state_space/mamba2.h"
#include "tenon/nn/vision/batch_norm.h"

namespace tenon {
namespace {

// Of a config alone, without its parents' fields.
template <class C>
void expect_problem(const C& config, const std::string& field, const std::string& message) {
  const auto error = error_of([&] { check_tree(config); });
  ASSERT_TRUE(error) << field;
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error->path(), field);
  EXPECT_EQ(error->message(), message);
}

using Numbers = std::vector<std::pair<double, std::string>>;

TEST(NumberRanges, NumbersThatNothingCanBeComputedWith) {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  const auto above_zero = [&](auto config, auto member, const std::string& field) {
    for (const auto& [bad, shown] : Numbers{{0.0, "0.0"}, {-1.0, "-1.0"}, {kInf, "inf"}, {kNan, "nan"}}) {
      config.*member = bad;
      expect_problem(config, field, "must be above 0 and finite, is " + shown);
    }
  };
  using Core = DotProductAttention::Config;
  above_zero(Core(), &Core::scale, "scale");
  above_zero(RMSNorm::Config(), &RMSNorm::Config::eps, "eps");
  above_zero(LayerNorm::Config(), &LayerNorm::Config::eps, "eps");
  above_zero(GatedNorm::Config(), &GatedNorm::Config::eps, "eps");
  above_zero(BatchNorm::Config(), &BatchNorm::Config::eps, "eps");
  above_zero(SinusoidalPositions::Config(), &SinusoidalPositions::Config::theta, "theta");
  above_zero(RotaryQkv::Config(), &RotaryQkv::Config::theta, "theta");
  above_zero(CappedHead::Config(), &CappedHead::Config::cap, "cap");
  above_zero(Embedding::Config(), &Embedding::Config::multiplier, "multiplier");
  above_zero(LoRA::Config(), &LoRA::Config::alpha, "alpha");
  above_zero(TopKRouter::Config(), &TopKRouter::Config::weight_scale, "weight_scale");
  above_zero(DistilledLm::Config(), &DistilledLm::Config::temperature, "temperature");
  const auto not_negative = [&](auto config, auto member, const std::string& field) {
    for (const auto& [bad, shown] : Numbers{{-1.0, "-1.0"}, {kInf, "inf"}, {kNan, "nan"}}) {
      config.*member = bad;
      expect_problem(config, field, "must be at least 0 and finite, is " + shown);
    }
  };
  not_negative(Core(), &Core::logit_cap, "logit_cap");
  not_negative(CrossEntropy::Config(), &CrossEntropy::Config::z_loss, "z_loss");
  not_negative(TopKRouter::Config(), &TopKRouter::Config::load_balance_loss, "load_balance_loss");
  not_negative(Mamba2::Config(), &Mamba2::Config::min_dt, "min_dt");
  Core core;
  core.dropout = 1;
  expect_problem(core, "dropout", "must be at least 0 and below 1, is 1.0");
}

TEST(NumberRanges, MasksOfMorePositionsThanThereAre) {
  const auto refused = [](const Mask& mask, const std::string& field, const std::string& message) {
    DotProductAttention::Config core;
    core.mask = mask;
    expect_problem(core, "mask." + field, message);
  };
  constexpr int64_t kMany = int64_t{1} << 31;
  refused(SlidingWindowMask{0}, "window", "must be at least 1, is 0");
  refused(SlidingWindowMask{kMany}, "window", "must be at most 2147483647, is 2147483648");
  refused(PrefixMask{kMany}, "prefix", "must be at most 2147483647, is 2147483648");
  refused(BlockSparseMask{.block = kMany}, "block", "must be at most 2147483647, is 2147483648");
  refused(BlockSparseMask{.local_blocks = kMany}, "local_blocks", "must be at most 2147483647, is 2147483648");
  refused(BlockSparseMask{.stride = kMany}, "stride", "must be at most 2147483647, is 2147483648");
}

}  // namespace
}  // namespace tenon
