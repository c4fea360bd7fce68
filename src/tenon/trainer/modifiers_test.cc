#include "tenon/trainer/modifiers.h"

#include <gmock/gmock.h>

#include "tenon/config/validate.h"
#include "tenon/trainer/test_run.h"

namespace tenon {
namespace {

using testing::HasSubstr;

std::string failure(const SetPrecision& modifier, Trainer::Config c) {
  try {
    modifier(c);
    validate(c);
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(SetPrecision, ByPath) {
  Trainer::Config c = tiny_config("text.txt");
  SetPrecision{.compute = {{"model", DType::bf16}}}(c);
  EXPECT_EQ(c.model.as<TinyModel>().compute_dtype, DType::bf16);
  EXPECT_THAT(failure({.compute = {{"model.nothing", DType::bf16}}}, c), HasSubstr("no module's path matches"));
  EXPECT_THAT(failure({.compute = {{"model", DType::bf16}, {"mod*", DType::f32}}}, c), HasSubstr("two patterns"));
}

TEST_F(RunTest, FlagsReachTheCompiler) {
  Trainer::Config c = config(5);
  c.xla_flags = {{"xla_cpu_enable_fast_math", "true"}, {"xla_disable_hlo_passes", "algsimp"}};
  SetXlaFlags{{{"xla_cpu_enable_fast_math", "false"}}}(c);
  EXPECT_EQ(c.xla_flags.at("xla_cpu_enable_fast_math"), "false");
  EXPECT_EQ(c.xla_flags.size(), 2U);
  EXPECT_EQ(run("known", c).step, 5);
  SetXlaFlags{{{"xla_no_such_flag", "1"}}}(c);
  const Error e = failure("unknown", c);
  EXPECT_EQ(e.code(), ErrorCode::compile);
  EXPECT_THAT(e.what(), HasSubstr("xla_no_such_flag"));
}

TEST_F(RunTest, Float16IsRefusedByName) {
  Trainer::Config c = config(5);
  SetPrecision{.compute = {{"model", DType::f16}}}(c);
  const Error e = failure("run", c);
  EXPECT_EQ(e.code(), ErrorCode::unsupported);
  EXPECT_EQ(e.path(), "compute_dtype");
  EXPECT_THAT(e.what(), HasSubstr("got f16"));
  EXPECT_THAT(e.hint(), HasSubstr("bf16"));
}

// 40 steps in bf16 come to the loss of f32, within a hundredth.
TEST_F(RunTest, Bfloat16LearnsAsMuch) {
  const TrainResult f32 = run("f32", config(40));
  Trainer::Config c = config(40);
  SetPrecision{.compute = {{"model", DType::bf16}}}(c);
  const TrainResult bf16 = run("bf16", c);
  EXPECT_NE(bf16.train_loss, f32.train_loss);
  EXPECT_NEAR(bf16.train_loss, f32.train_loss, 0.01 * f32.train_loss);
}

}  // namespace
}  // namespace tenon
