#include "tenon/config/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tenon/config/test_types.h"
#include "tenon/config/test_util.h"

namespace tenon {
namespace {

using namespace zoo;  // NOLINT
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Validate, NamesAllMissingFieldsThatNoParentFills) {
  Model::Config c;
  c.sources.resize(2);
  c.sources[1].path = "books";
  c.schedule = Warmup{};
  c.layers = {GatedFeedForward::Config{}, Experts::Config{}};  // input_dim is theirs to get from their parents
  c.layers[1].as<Experts>().expert.reset();
  EXPECT_THAT(missing_fields(c), ElementsAre("vocab_size", "sources.0.path", "layers.1.expert", "schedule.steps"));
  const Error error = thrown([&] { validate(c); });
  EXPECT_STREQ(
      error.what(),
      "missing_field: required fields were never set: vocab_size, sources.0.path, layers.1.expert, schedule.steps");
}

TEST(Validate, RunsAllChecksOnceNothingIsMissing) {
  Model::Config c;
  c.vocab_size = 1;
  EXPECT_THAT(missing_fields(c), IsEmpty());
  validate(c);
  c.layers = {Experts::Config{}};
  c.layers[0].as<Experts>().num_experts = 0;
  c.layers[0].as<Experts>().expert.as<GatedFeedForward>().hidden_dim = ScaledDim{.round_up_to = 0};
  c.layers[0].as<Experts>().linear.as<Linear>().output_dim = -1;
  EXPECT_STREQ(thrown([&] { validate(c); }).what(),
               "invalid_argument: 3 problems: layers.0.num_experts must be at least 1, is 0; "
               "layers.0.linear.output_dim must be positive, is -1; "
               "layers.0.expert.hidden_dim.round_up_to must be positive, is 0");
}

TEST(Checker, ComparesExactlyAndSkipsWhatIsUnset) {
  Checker c;
  const int64_t big = (int64_t{1} << 53) + 1;
  c.at_most("big", big, big - 1);
  c.at_least("nan", std::numeric_limits<double>::quiet_NaN(), 0);
  c.positive("unset", Required<int64_t>());
  c.at_least("none", std::optional<int64_t>(), 1);
  c.one_of("bits", 7, {4, 8});
  c.one_of("mode", "fast", {"fast", "slow"});
  std::vector<std::string> fields;
  for (const auto& problem : c.problems()) fields.push_back(problem.path);
  EXPECT_THAT(fields, ElementsAre("big", "nan", "bits"));
  EXPECT_EQ(c.problems()[2].message, "must be one of 4, 8, is 7");
}

TEST(Required, IsNamedWhenReadTooEarlyInABuild) {
  GatedFeedForward::Config c;
  const detail::ConfigScope scope(c);
  const Error error = thrown([&] { (void)c.linear->output_dim.value(); });
  EXPECT_STREQ(error.what(), "missing_field at linear.output_dim: the required field linear.output_dim was never set");
}

}  // namespace
}  // namespace tenon
