#include "tenon/data/mixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "tenon/base/error.h"

namespace tenon {
namespace {

using testing::HasSubstr;

std::string error(const std::vector<double>& weights) {
  try {
    (void)MixtureOrder(weights, 0);
  } catch (const Error& e) {
    return e.what();
  }
  return "none";
}

TEST(MixtureTest, SharesInOrderAndNothingTwice) {
  const std::vector<double> weights = {0.5, 0.3, 0.2};
  const MixtureOrder order(weights, 9);
  const uint64_t period = MixtureOrder::kPeriod;
  std::vector<uint64_t> next(3, 0);
  for (uint64_t p = 0; p < 2 * period; ++p) {
    const auto [source, position] = order.at(p);
    ASSERT_EQ(position, next.at(source)++) << p;
    ASSERT_EQ(order.find({source, position}), p);
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_NEAR(static_cast<double>(next[i]), static_cast<double>(p + 1) * weights[i], 2.5) << p;
    }
  }
  EXPECT_EQ(next[0], period);
  EXPECT_EQ(next[1] % 2 + next[2] % 2, 0u);  // each period has the same
  const uint64_t far = uint64_t{1} << 60;
  EXPECT_EQ(order.at(far).position, next[order.at(far).source] / 2 * (far / period));  // a place where a period begins
}

TEST(MixtureTest, OneSourceIsItself) {
  const MixtureOrder order(std::vector<double>{1.0}, 3);
  for (const uint64_t p : {uint64_t{0}, uint64_t{77}, uint64_t{1} << 60}) {
    EXPECT_EQ(order.at(p).position, p);
    EXPECT_EQ(order.find({0, p}), p);
  }
}

TEST(MixtureTest, FarAway) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  const MixtureOrder order(std::vector<double>{0.25, 0.75}, 5);
  const uint64_t far = uint64_t{1} << 61;
  EXPECT_EQ(order.at(order.find({0, far})).position, far);
  EXPECT_EQ(order.at(order.find({1, far})).position, far);
  EXPECT_EQ(order.find({0, kMost}), kMost);
  EXPECT_EQ(order.find({1, kMost - 5}), kMost);
}

TEST(MixtureTest, SeedsMoveTheSources) {
  const std::vector<double> weights = {0.9, 0.1};
  int same = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) same += MixtureOrder(weights, seed).at(0).source == 0 ? 1 : 0;
  EXPECT_GT(same, 5);
  std::set<uint64_t> firsts;
  for (uint64_t seed = 0; seed < 10; ++seed) firsts.insert(MixtureOrder(weights, seed).find({1, 0}));
  EXPECT_GT(firsts.size(), 3u);
}

TEST(MixtureTest, WeightsThatDontFit) {
  EXPECT_EQ(error({0.5, 0.5}), "none");
  EXPECT_EQ(error({1.0 / 3, 1.0 / 3, 1.0 / 3}), "none");
  EXPECT_THAT(error({0.5, 0.6}), HasSubstr("got 1.1 in all, expected 1"));
  EXPECT_THAT(error({0.5, 0.4}), HasSubstr("sources: the weights of the sources don't add up"));
  EXPECT_THAT(error({1, 0}), HasSubstr("sources.1.weight"));
  EXPECT_THAT(error({1.5, -0.5}), HasSubstr("sources.0.weight"));
  EXPECT_THAT(error({0.999999, 0.000001}), HasSubstr("sources.1.weight"));
  EXPECT_THAT(error({std::numeric_limits<double>::quiet_NaN(), 1}), HasSubstr("sources.0.weight"));
}

}  // namespace
}  // namespace tenon
