#include "tenon/aot/step_report.h"

#include <gmock/gmock.h>

namespace tenon {
namespace {

using ::testing::HasSubstr;
using Counts = std::map<std::string, int64_t>;

TEST(StepReport, CollectivesByKind) {
  const Counts instructions{
      {"add", 9},         {"all-gather", 2},       {"all-gather-start", 3}, {"all-gather-done", 3},
      {"all-reduce", 1},  {"reduce-scatter", 4},   {"reduce", 5},           {"all-to-all", 6},
      {"async-start", 7}, {"ragged-all-to-all", 8}};
  const Counts want{
      {"all-gather", 5}, {"all-reduce", 1}, {"all-to-all", 6}, {"ragged-all-to-all", 8}, {"reduce-scatter", 4}};
  EXPECT_EQ(count_collectives(instructions), want);
}

StepReport sample() {
  StepReport r;
  r.mesh = Mesh{{"fsdp", 2}, {"model", 2}};
  r.chip = {"v9", 1024 * 1024, "nowhere"};
  r.compiled.num_devices = 4;
  r.compiled.device_kind = "TPU v9";
  r.compiled.seconds = 1.25;
  r.compiled.memory.argument = 400 * 1024;
  r.compiled.memory.output = 300 * 1024;
  r.compiled.memory.alias = 200 * 1024;
  r.compiled.memory.temporary = 500 * 1024;
  r.compiled.memory.generated_code = 24 * 1024;
  r.compiled.instructions = {{"all-reduce", 3}, {"add", 1}};
  r.flops = 2.5e9;
  return r;
}

TEST(StepReport, FitsUpToTheLastByte) {
  StepReport r = sample();  // 400 + 300 - 200 + 500 + 24 = 1024 KiB
  EXPECT_TRUE(r.fits());
  EXPECT_NO_THROW(r.require_fit());
  ++r.compiled.memory.temporary;
  EXPECT_FALSE(r.fits());
  try {
    r.require_fit();
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
    EXPECT_THAT(e.what(), HasSubstr("v9"));
    EXPECT_THAT(e.what(), HasSubstr("at most 1.0 MiB"));
  }
}

TEST(StepReport, SaysWhatTheCompilerSays) {
  StepReport r = sample();
  std::string text = format_report(r);
  for (const char* line :
       {"4 x TPU v9, mesh fsdp=2,model=2\n", "compiled in 1.2 s, 2.500 GFLOPs\n",
        "collectives: 3 all-reduce (a loop's body counted once)\n", "  arguments     400.0 KiB\n",
        "  results       300.0 KiB  (200.0 KiB of them in place of arguments)\n", "  temporaries   500.0 KiB\n",
        "  code           24.0 KiB\n", "  in all          1.0 MiB  of 1.0 MiB (v9)\n", "fits: yes"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, ::testing::Not(HasSubstr("peak")));
  r.compiled.memory.peak = 2048;
  EXPECT_THAT(format_report(r), HasSubstr("  peak            2.0 KiB\n"));
  r.host_bytes = 3072;
  EXPECT_THAT(format_report(r), HasSubstr("  peak            2.0 KiB  with what lies in host memory\n"));
  EXPECT_THAT(format_report(r), HasSubstr("state in host memory, for each device: 3.0 KiB\n"));
  r.compiled.memory.temporary *= 2;
  EXPECT_THAT(format_report(r), HasSubstr("fits: no"));
  EXPECT_THAT(format_report(r), ::testing::Not(HasSubstr("warning")));
  r.compiled.warnings = {{"decoder.norm/add", "every device gets the whole of f32[8]"}};
  EXPECT_THAT(format_report(r), HasSubstr("warning: at decoder.norm/add: every device gets the whole of f32[8]\n"));
  r.compiled.instructions = {{"add", 1}};
  EXPECT_THAT(format_report(r), HasSubstr("collectives: none"));
  r.compiled.instructions.clear();
  EXPECT_THAT(format_report(r), HasSubstr("collectives: not shown by the plugin"));
}

TEST(StepReport, TargetsThatDoNotExist) {
  const auto code_of = [](const char* target) {
    try {
      compile_train_step(Trainer::Config(), target);
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::internal;
  };
  for (const char* target : {"", "cpu:8", "v5q:2x2x1", "h1000:4", ":4"})
    EXPECT_EQ(code_of(target), ErrorCode::unknown_name) << target;
  for (const char* target : {"h100", "h100:", "h100:2x2", "v5p:4", "h100:12"})
    EXPECT_EQ(code_of(target), ErrorCode::invalid_argument) << target;
}

}  // namespace
}  // namespace tenon
