#include "tenon/trainer/measure.h"

#include <gmock/gmock.h>

#include "tenon/base/json.h"
#include "tenon/base/text.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/trainer/test_run.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Measure = RunTest;

// The losses are those of a run, to the bit; and so many tokens are counted.
TEST_F(Measure, TakesTheStepsOfARun) {
  const Trainer::Config c = config(5);
  (void)run("run", c);
  const StepMeasurement measured = measure_steps(c, cpu(1), {.steps = 3, .warm_up = 2});
  const std::map<int64_t, std::string> wanted = losses(path("run"));
  ASSERT_EQ(wanted.size(), 5U);
  ASSERT_EQ(measured.losses.size(), 5U);
  for (const auto& [step, loss] : wanted) {
    EXPECT_EQ(format_float(measured.losses[static_cast<size_t>(step - 1)]), loss) << step;
  }
  ASSERT_EQ(measured.step_s.size(), 3U);
  for (const double seconds : measured.step_s) EXPECT_GT(seconds, 0);
  EXPECT_EQ(measured.weight, 3 * 8 * 16);
  EXPECT_EQ(measured.unit, "tokens");
  EXPECT_EQ(measured.num_devices, 1);
  EXPECT_EQ(measured.chip, "");
  EXPECT_FALSE(measured.mfu);
  EXPECT_GT(measured.expected_peak(), 0);
  EXPECT_EQ(measure_steps(c, cpu(1), {.steps = 2, .warm_up = 0}).step_s.size(), 2U) << "without warming up";
}

TEST_F(Measure, MistakesAreTold) {
  const auto failing = [&](const Trainer::Config& c, const MeasureOptions& options) {
    return error_of([&] { (void)measure_steps(c, cpu(1), options); }).value();
  };
  EXPECT_THAT(failing(config(5), {.steps = 0}).what(), AllOf(HasSubstr("--steps"), HasSubstr("1 to 10000")));
  EXPECT_THAT(failing(config(5), {.warm_up = -1}).what(), HasSubstr("--warm_up"));
  Trainer::Config poisoned = config(5);
  poisoned.model.as<TinyModel>().poison = ' ';
  EXPECT_EQ(failing(poisoned, {.steps = 2}).code(), ErrorCode::non_finite);
}

StepMeasurement of_a_gpu() {
  StepMeasurement m;
  m.platform = "cuda";
  m.device_kind = "NVIDIA H200";
  m.chip = "h200";
  m.num_devices = 1;
  m.compiled.argument = 1000;
  m.compiled.output = 900;
  m.compiled.alias = 800;
  m.compiled.temporary = 24;
  m.compiled.generated_code = 5000;
  m.step_s = {0.5, 0.25, 0.25, 0.5};
  m.weight = 6000;
  m.unit = "tokens";
  m.mfu = 0.5;
  m.losses = {3, 2.5};
  m.device_peak = 2048;
  return m;
}

TEST(StepMeasurement, CountsByHand) {
  const StepMeasurement m = of_a_gpu();
  EXPECT_DOUBLE_EQ(m.seconds(), 0.375);
  EXPECT_DOUBLE_EQ(m.rate(), 4000);
  EXPECT_EQ(m.expected_peak(), 1124);
}

TEST(StepMeasurement, ForPeople) {
  EXPECT_THAT(
      format_measurement(of_a_gpu()),
      AllOf(HasSubstr("1 x cuda (NVIDIA H200)"), HasSubstr("4 steps of 0.3750 s (0.2500 to 0.5000): 4000 tokens/s"),
            HasSubstr("MFU 50.0 %"), HasSubstr("1.1 KiB expected"), HasSubstr("at most 2.0 KiB in use\n")));
}

TEST(StepMeasurement, AsJson) {
  StepMeasurement m = of_a_gpu();
  const Json json = Json::parse(measurement_json(m)).value();
  EXPECT_EQ(json.member("expected_peak_bytes").integer(), 1124);
  EXPECT_EQ(json.member("device_peak_bytes").integer(), 2048);
  EXPECT_EQ(json.member("mfu").number(), 0.5);
  EXPECT_EQ(json.member("rate").number(), 4000);
  EXPECT_EQ(json.string("chip"), "h200");
  EXPECT_EQ(json.list("losses").size(), 2U);
  m.device_peak.reset();
  m.mfu.reset();
  const Json without = Json::parse(measurement_json(m)).value();
  EXPECT_FALSE(without.member("device_peak_bytes").integer());
  EXPECT_FALSE(without.member("mfu").number());
}

}  // namespace
}  // namespace tenon
