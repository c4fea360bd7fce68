#include "tenon/config/number_checks.h"

#include <gmock/gmock.h>

#include <limits>
#include <optional>

namespace tenon {
namespace {

TEST(CheckInterval, BoundsAreInItOrNot) {
  Checker c;
  check_interval(c, "in", 0, '[', 0, 1, ')');
  check_interval(c, "in", 1, '(', 0, 1, ']');
  check_interval(c, "none", std::optional<double>(), '(', 0, 1, ')');
  EXPECT_TRUE(c.problems().empty());
  check_interval(c, "low", 0.0, '(', 0, 1, ')');
  check_interval(c, "high", 1, '[', 0, 1, ')');
  check_interval(c, "higher", 17, '[', 0, 16, ']');
  check_interval(c, "nan", std::numeric_limits<double>::quiet_NaN(), '[', 0, 1, ']');
  std::vector<std::string> told;
  for (const auto& problem : c.problems()) told.push_back(problem.path + " " + problem.message);
  EXPECT_THAT(
      told, testing::ElementsAre("low must be above 0 and below 1, is 0.0", "high must be at least 0 and below 1, is 1",
                                 "higher must be at least 0 and at most 16, is 17",
                                 "nan must be at least 0 and at most 1, is nan"));
}

}  // namespace
}  // namespace tenon
