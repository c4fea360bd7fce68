#include "tenon/aot/step_report.h"

#include <gmock/gmock.h>

#include "tenon/base/json.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// 4 devices of 1e9 FLOPs a second; 2.5e9 FLOPs a step, of which 2e9 are products and 1e9 attention, half of it masked.
StepReport sample() {
  StepReport r;
  r.mesh = Mesh{{"fsdp", 2}, {"model", 2}};
  r.chip.name = "v9";
  r.chip.memory_bytes = 1024 * 1024;
  r.chip.peaks = {{DType::bf16, 1e9}};
  r.flops.total = 2.5e9;
  r.flops.products = {{DType::bf16, 2e9}};
  r.flops.attention = 1e9;
  r.flops.attention_unmasked = 0.5e9;
  r.model_flops = r.flops;
  r.tokens = 100;
  r.arguments = {{"parameters", 100 * 1024}, {"optimizer", 300 * 1024}};
  AotResult& c = r.compiled.emplace();
  c.device_kind = "TPU v9";
  c.seconds = 1.25;
  c.memory.argument = 400 * 1024;
  c.memory.output = 300 * 1024;
  c.memory.alias = 200 * 1024;
  c.memory.temporary = 500 * 1024;
  c.memory.generated_code = 24 * 1024;
  r.collectives.emplace().totals = {{"all-reduce", "fsdp", 2, 36, 3072, 3072, 0}};
  r.peak.emplace();
  r.peak->bytes = 450 * 1024;
  r.peak->buffers = {{400 * 1024, "decoder.layers/dot", BufferRole::saved_activation},
                     {50 * 1024, "", BufferRole::temporary}};
  r.memory_traffic = 1e6;
  StepWork work;
  work.flops.add(r.flops, 0.25);
  r.bound = bound_step(work, r.chip, 1);
  return r;
}

TEST(StepReport, FitsUpToTheLastByte) {
  StepReport r = sample();  // 400 + 300 - 200 + 500 + 24 = 1024 KiB
  EXPECT_TRUE(r.fits());
  EXPECT_NO_THROW(r.require_fit());
  ++r.compiled->memory.temporary;
  EXPECT_FALSE(r.fits());
  try {
    r.require_fit();
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
    EXPECT_THAT(e.what(), HasSubstr("v9"));
    EXPECT_THAT(e.what(), HasSubstr("at most 1.0 MiB"));
    EXPECT_EQ(e.path(), "decoder.layers 400.0 KiB, optimizer 300.0 KiB, parameters 100.0 KiB");
  }
}

TEST(StepReport, SaysWhatTheCompilerSays) {
  StepReport r = sample();
  const std::string text = format_report(r);
  for (const char* line :
       {"4 x TPU v9, mesh fsdp=2,model=2\n", "compiled in 1.2 s, 2.500 GFLOPs\n",
        "      36 x all-reduce         over fsdp         of 2         3.0 KiB\n", "  arguments     400.0 KiB\n",
        "  results       300.0 KiB  (200.0 KiB of them in place of arguments)\n", "  temporaries   500.0 KiB\n",
        "  code           24.0 KiB\n", "  in all          1.0 MiB  of 1.0 MiB (v9)\n",
        "  saved activations   400.0 KiB\n", "   400.0 KiB  decoder.layers\n", "    50.0 KiB  (unnamed)\n",
        "FLOPs of a step: 2.5e+09 (2e+09 with attention by its mask)", "625 FLOPs a byte of memory",
        // (2e9 - 0.5e9) / 4 / 1e9 s; products with all pairs over that, and by the mask
        "a step takes at least 0.375 s, by compute",
        "MFU at most 133.3 % = the model's products / (0.375 s x 4 x 0.001 TFLOPS bf16); 100.0 % by attention's mask\n",
        "at most 266.7 tokens/s, 66.67 a device\n", "fits: yes"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("peak")));
  EXPECT_THAT(text, Not(HasSubstr("warning")));
}

TEST(StepReport, LayersWithTheSameKernelAreOneLine) {
  StepReport r = sample();
  for (const char* path :
       {"layers.0.core", "layers.1.core", "layers.2.core", "layers.2.other", "layers.12.core", "top"}) {
    r.kernels.push_back({.kernel = "attention", .path = path, .implementation = "", .refusals = {}, .count = 2});
  }
  EXPECT_THAT(format_report(r), HasSubstr("\nlayers.0-2.core: attention x2 by ordinary ops\n"
                                          "layers.2.other: attention x2 by ordinary ops\n"
                                          "layers.12.core: attention x2 by ordinary ops\n"
                                          "top: attention x2 by ordinary ops\n"));
}

TEST(StepReport, SaysWhatIsNotKnown) {
  StepReport r = sample();
  r.compiled->memory.peak = 2048;
  EXPECT_THAT(format_report(r), HasSubstr("  peak            2.0 KiB\n"));
  r.host_bytes = 3072;
  EXPECT_THAT(format_report(r), HasSubstr("  peak            2.0 KiB  with what lies in host memory\n"));
  EXPECT_THAT(format_report(r), HasSubstr("state in host memory, for each device: 3.0 KiB\n"));
  r.compiled->memory.temporary *= 2;
  EXPECT_THAT(format_report(r), HasSubstr("fits: no"));
  r.compiled->warnings = {{"decoder.norm/add", "every device gets the whole of f32[8]"}};
  EXPECT_THAT(format_report(r), HasSubstr("warning: at decoder.norm/add: every device gets the whole of f32[8]\n"));
  r.collectives->totals.clear();
  EXPECT_THAT(format_report(r), HasSubstr("collectives: none"));
  r.collectives.reset();
  r.peak.reset();
  EXPECT_THAT(format_report(r), HasSubstr("collectives: not shown by the plugin"));
  r.bound = {};
  EXPECT_THAT(format_report(r), HasSubstr("bound: the speeds of v9 aren't known"));
  r.compiled.reset();
  EXPECT_THAT(format_report(r), HasSubstr("not compiled"));
  EXPECT_THAT(format_report(r), HasSubstr("fits: the arguments do (not compiled)"));
}

TEST(StepReport, OfARefusedProgramSaysWhatIsKnownWithoutACompiler) {
  StepReport r = sample();
  r.compiled.reset();
  r.refused = Error(ErrorCode::out_of_memory, "used 9 of 1");
  r.peak = PeakMemory{5 * 1024, {{5 * 1024, "decoder.layers.ffn/dot_general", BufferRole::saved_activation}}};
  const std::string text = format_report(r);
  EXPECT_THAT(text, HasSubstr("the compiler refuses"));
  EXPECT_THAT(text, HasSubstr("\n  saved activations     5.0 KiB  if each is split over all devices\nby module:\n"));
  EXPECT_THAT(text, HasSubstr("\n     5.0 KiB  decoder.layers.ffn\n"));
  EXPECT_THAT(text, HasSubstr("fits: no"));
  const auto refusal = [&] {
    const auto error = error_of([&] { r.require_fit(); });
    return error ? std::string(error->what()) : "";
  };
  EXPECT_THAT(refusal(), AllOf(HasSubstr("out_of_memory at optimizer 300.0 KiB, "),
                               HasSubstr("decoder.layers.ffn 5.0 KiB (estimated): used 9 of 1")));
  r.peak.reset();
  EXPECT_EQ(refusal(), "out_of_memory: used 9 of 1");
  EXPECT_THAT(format_report(r), Not(HasSubstr("estimate")));
}

TEST(StepReport, SaysWhatElseThereIs) {
  StepReport r = sample();
  r.workspace = 4096;
  r.compiled->memory.host_temporary = 5120;
  r.compiled->warnings = {{"", "slow"}};
  r.peak->buffers.clear();
  for (int64_t i = 1; i <= 9; ++i)
    r.peak->buffers.push_back({i, "m" + std::to_string(i) + "/dot", BufferRole::temporary});
  const std::string text = format_report(r);
  EXPECT_THAT(text, HasSubstr("  workspace       4.0 KiB  of libraries and kernels, by our own account\n"));
  EXPECT_THAT(text, HasSubstr("  on the host     5.0 KiB\n"));
  EXPECT_THAT(text, HasSubstr("\nwarning: slow\n"));
  // Optimizer, parameters and six more.
  EXPECT_THAT(text, HasSubstr("  m4\nFLOPs of a step"));
  r.peak.reset();
  EXPECT_THAT(format_report(r), HasSubstr("  temporaries: the plugin doesn't show its program\n"));
}

// The value at keys of objects within objects.
const Json& at(const Json& json, std::initializer_list<const char*> keys) {
  const Json* value = &json;
  for (const char* key : keys) value = &value->member(key);
  return *value;
}

TEST(StepReport, AsJson) {
  StepReport r = sample();
  const Json json = Json::parse(report_json(r)).value();
  EXPECT_TRUE(*json.member("fits").as<bool>());
  EXPECT_EQ(at(json, {"bytes", "total"}).integer(), 1024 * 1024);
  EXPECT_EQ(at(json, {"bytes", "temporaries"}).integer(), 500 * 1024);
  EXPECT_EQ(at(json, {"bytes", "own_account", "optimizer"}).integer(), 300 * 1024);
  EXPECT_EQ(at(json, {"bytes", "own_account", "saved_activations"}).integer(), 400 * 1024);
  EXPECT_EQ(at(json, {"bytes", "own_account", "modules", "decoder.layers"}).integer(), 400 * 1024);
  EXPECT_EQ(at(json, {"flops", "step"}).number(), 2.5e9);
  EXPECT_EQ(at(json, {"flops", "model_unmasked"}).number(), 2e9);
  EXPECT_EQ(at(json, {"flops", "model_products"}).number(), 2e9);
  EXPECT_EQ(at(json, {"flops", "model_attention"}).number(), 1e9);
  const Json& total = json.list("collectives").at(0);
  EXPECT_EQ(total.string("kind"), "all-reduce");
  EXPECT_EQ(total.string("axes"), "fsdp");
  EXPECT_EQ(total.member("count").number(), 36);
  EXPECT_EQ(total.member("bytes").number(), 3072);
  EXPECT_EQ(json.member("bound_s").number(), 0.375);
  EXPECT_EQ(at(json, {"bound", "by"}).text(), "\"compute\"");
  EXPECT_EQ(json.member("compile_s").number(), 1.25);
  EXPECT_EQ(at(json, {"bound", "links_s"}).number(), 0);
  EXPECT_EQ(at(json, {"bound", "network_s"}).number(), 0);
  EXPECT_EQ(reports_json({r}), report_json(r));
  r.compiled->warnings = {{"decoder/add", "slow"}};
  r.kernels = {{.kernel = "attention", .path = "top", .implementation = "", .refusals = {}, .count = 2}};
  r.workspace = 1;
  r.host_bytes = 2;
  const Json more = Json::parse(report_json(r)).value();
  EXPECT_EQ(more.list("warnings").at(0).text(), "\"decoder/add: slow\"");
  EXPECT_EQ(more.list("kernels").at(0).text(), "\"top: attention x2 by ordinary ops\"");
  EXPECT_EQ(at(more, {"bytes", "workspace"}).integer(), 1);
  EXPECT_EQ(at(more, {"bytes", "host_arguments"}).integer(), 2);
  r.collectives.reset();  // the plugin doesn't show its program
  const Json hidden = Json::parse(report_json(r)).value();
  EXPECT_EQ(hidden.member("collectives").text(), "null");
  EXPECT_EQ(at(hidden, {"bound", "links_s"}).text(), "null");
  EXPECT_EQ(at(hidden, {"bound", "network_s"}).text(), "null");
  EXPECT_EQ(at(hidden, {"bound", "compute_s"}).number(), 0.375);
  r.refused = Error(ErrorCode::out_of_memory, "used \xff of 1");
  r.compiled.reset();
  const Json refused = Json::parse(report_json(r)).value();
  EXPECT_FALSE(*refused.member("fits").as<bool>());
  EXPECT_EQ(refused.member("bound_s").text(), "null");
  EXPECT_EQ(refused.member("compile_s").text(), "null");
  EXPECT_THAT(refused.string("refused"), HasSubstr("used"));
  r.name = "prefill";
  const Json both = Json::parse(reports_json({r, sample()})).value();
  EXPECT_EQ(at(both, {"prefill", "fits"}).text(), "false");
  EXPECT_EQ(at(both, {"train step", "fits"}).text(), "true");
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
  for (const char* target : {"", "v5q:2x2x1", "h1000:4", ":4"})
    EXPECT_EQ(code_of(target), ErrorCode::unknown_name) << target;
  for (const char* target : {"h100", "h100:", "h100:2x2x2", "v5p:4", "h100:12", "cpu:0"})
    EXPECT_EQ(code_of(target), ErrorCode::invalid_argument) << target;
}

}  // namespace
}  // namespace tenon
