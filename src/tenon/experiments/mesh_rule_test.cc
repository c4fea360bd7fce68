#include "tenon/experiments/mesh_rule.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tenon/base/file.h"
#include "tenon/config/modifiers.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/resolve.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/dot/lora.h"
#include "tenon/nn/dot/quantized_dot.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/trainer/modifiers.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<MeshRule> rules() {
  std::vector<MeshRule> out;
  for (const char* instance : {"tpu-v5p-(512|1024)", "gpu-(p5\\.48xlarge|a3-.*|h100)-.*", "gpu-h100-256", "cpu-.*"}) {
    out.push_back({.instance = std::string(instance)});
  }
  return out;
}

TEST(MeshRule, TheFirstThatMatchesTheWholeName) {
  EXPECT_EQ(find_mesh_rule(rules(), "tpu-v5p-1024"), 0);
  EXPECT_EQ(find_mesh_rule(rules(), "gpu-p5.48xlarge-8"), 1);
  EXPECT_EQ(find_mesh_rule(rules(), "gpu-h100-256"), 1);
  EXPECT_EQ(find_mesh_rule(rules(), "cpu-"), 3);
  EXPECT_EQ(find_mesh_rule(rules(), "tpu-v5p-10240"), -1);
  EXPECT_EQ(find_mesh_rule(rules(), "my-cpu-1"), -1);
  EXPECT_EQ(find_mesh_rule(rules(), "gpu-p5x48xlarge-8"), -1) << "\\. is a point";
  EXPECT_EQ(find_mesh_rule({}, "cpu-1"), -1);
  EXPECT_EQ(error_of([] { find_mesh_rule(rules(), ""); })->path(), "--instance");
  EXPECT_EQ(error_of([] { find_mesh_rule(rules(), std::string(201, 'a')); })->code(), ErrorCode::invalid_argument);
}

TEST(MeshRule, NoExpressionHangs) {
  EXPECT_EQ(find_mesh_rule({{.instance = std::string("(a+)+c")}}, std::string(60, 'a')), -1);
}

class MeshRulesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  MeshRulesTest() : dir_(std::filesystem::temp_directory_path() / ("tenon_rules_" + random_suffix())) {
    std::filesystem::create_directory(dir_);
    register_experiments(experiments_);
  }
  ~MeshRulesTest() override { std::filesystem::remove_all(dir_); }
  std::string file(const std::string& text) const {
    const std::string path = dir_ / "x.toml";
    write_file_atomic(path, text).value();
    return path;
  }
  Resolved on(const std::string& instance, Overrides overrides = {}) const {
    overrides.instance = instance;
    return resolve(experiments_.find("llama2_7b"), overrides);
  }
  std::filesystem::path dir_;
  ExperimentRegistry experiments_;
};

TEST_F(MeshRulesTest, SayWhatTheyDid) {
  const Resolved out = on("tpu-v5e-256");
  EXPECT_EQ(out.config.mesh.fsdp, 256);
  EXPECT_EQ(out.config.accumulation, 4);
  EXPECT_THAT(out.report, AllOf(StartsWith("mesh rule 1, \"tpu-(v5e|v5litepod)-256\", matches \"tpu-v5e-256\"\n"
                                           "SetMesh: 1 change\n  mesh.fsdp: 8 -> 256\nSetRemat: "),
                                HasSubstr("AccumulateGradients: 1 change\n  accumulation: 1 -> 4\n")));
  const size_t count = experiments_.find("llama2_7b").mesh_rules.size();
  EXPECT_EQ(on("abacus-7").report, "no mesh rule matches \"abacus-7\": there are " + std::to_string(count) +
                                       "; `tenon rules list llama2_7b` shows them\n");
  EXPECT_EQ(resolve(experiments_.find("llama2_7b"), {}).report, "");
}

TEST_F(MeshRulesTest, ComeAfterFilesAndBeforeAssignments) {
  const std::string overlay = file("accumulation = 2\n");
  EXPECT_EQ(on("tpu-v5e-256", {.files = {overlay}}).config.accumulation, 4);
  EXPECT_EQ(on("tpu-v5e-256", {.files = {overlay}, .assignments = {"accumulation=8"}}).config.accumulation, 8);
  EXPECT_EQ(on("cpu-8", {.files = {overlay}}).config.accumulation, 2);
}

TEST_F(MeshRulesTest, AreSetLikeFields) {
  const std::string overlay = file(R"(
mesh_rules = [{instance = "abacus-.*", modifiers = [{type = "AccumulateGradients", steps = 3}]}]
)");
  EXPECT_EQ(on("abacus-7", {.files = {overlay}}).config.accumulation, 3);
  EXPECT_THAT(on("cpu-1", {.files = {overlay}}).report, HasSubstr("there are 1"));
  const Overrides set{.files = {overlay}, .assignments = {"mesh_rules.0.modifiers.0.steps=5"}};
  EXPECT_EQ(on("abacus-7", set).config.accumulation, 5);
  EXPECT_THAT(mesh_rules_to_toml(experiments_.find("llama2_7b"), set),
              HasSubstr("mesh_rules.0.modifiers.0.steps = 5\n"));
  EXPECT_THAT(error_of([&] { on("", {.assignments = {"mesh_rules.0.instance='('"}}); })->what(),
              AllOf(HasSubstr("mesh_rules.0.instance"), HasSubstr("must be a regular expression")));
}

TEST_F(MeshRulesTest, ModifiersOfFilesComeBeforeTheirFields) {
  const std::string overlay = file(R"(
modifiers = [
  {type = "UseAttention", core.type = "FlashAttention", core.block_size = 128},
  {type = "AccumulateGradients", steps = 2},
]
model.decoder.pattern.0.attention.core.logit_cap = 30.0
accumulation = 16
)");
  const Resolved out = resolve(experiments_.find("llama2_7b"), {.files = {overlay}});
  EXPECT_EQ(out.config.accumulation, 16);
  EXPECT_THAT(out.report, AllOf(HasSubstr("attention.core.block_size: 512 -> 128\n"), HasSubstr("1 -> 2")));
}

TEST_F(MeshRulesTest, QuantizeAndAdaptFromFilesAndRules) {
  const std::string overlay = file(R"(
modifiers = [{type = "AddLoRA", rank = 4, within = "**.attention"}]
[[mesh_rules]]
instance = "abacus-.*"
modifiers = [{type = "UseDot", dot.type = "Int8Dot", within = "**.feed_forward"}]
)");
  const Resolved out = on("abacus-7", {.files = {overlay}});
  EXPECT_THAT(out.report, AllOf(HasSubstr("AddLoRA: "), HasSubstr("attention.output.dot.rank: (none) -> 4\n"),
                                HasSubstr("UseDot: 2 changes\n"),
                                HasSubstr("feed_forward.down.dot.type: \"PlainDot\" -> \"Int8Dot\"\n")));
}

TEST_F(MeshRulesTest, ModifiersOnTheCommandLine) {
  const auto with = [&](const std::string& text) {
    return resolve(experiments_.find("llama2_7b"), {.assignments = {"seed=1"}, .modifiers = {text}});
  };
  EXPECT_EQ(with("AccumulateGradients{steps = 4}").config.accumulation, 4);
  EXPECT_EQ(with("SetMesh").config.mesh, MeshConfig{});
  EXPECT_THAT(with("Replace{from = 'FlashAttention', to.type = 'DotProductAttention'}").report,
              HasSubstr("attention.core.type: \"FlashAttention\" -> \"DotProductAttention\"\n"));
  EXPECT_THAT(error_of([&] { with("Replac{from = 'A'}"); })->what(), HasSubstr("did you mean Replace?"));
  EXPECT_THAT(error_of([&] { with("SetMesh{mesh = 3"); })->what(), HasSubstr("NAME{field = value, …}"));
  EXPECT_THAT(error_of([&] { with("SetMesh{type = 'Replace'}"); })->what(), HasSubstr("NAME{field = value, …}"));
  EXPECT_THAT(
      error_of([&] { with("AccumulateGradients{steps = 0}"); })->what(),
      AllOf(HasSubstr("at --modify.steps: "), HasSubstr("it is in --modify \"AccumulateGradients{steps = 0}\"")));
  EXPECT_THAT(error_of([&] { with("AddLoRA{rank = 0, dropout = 1.0}"); })->what(),
              AllOf(HasSubstr("2 problems: --modify.rank must"), HasSubstr("; --modify.dropout must"),
                    Not(HasSubstr("modifiers.0"))));
  EXPECT_THAT(error_of([&] { with("Silu"); })->what(), HasSubstr("another signature"));
  EXPECT_THAT(error_of([&] {
                resolve(experiments_.find("llama2_7b"), {.assignments = {"modifiers=[{type='SetMesh'}]"}});
              })->what(),
              HasSubstr("--modify"));
}

// Whether or not they match the machine.
TEST_F(MeshRulesTest, AreWhole) {
  const auto error = [&](const std::string& text) {
    const auto e = error_of([&] { resolve(experiments_.find("llama2_test"), {.files = {file(text)}}); });
    return e ? std::string(e->what()) : "";
  };
  EXPECT_THAT(error("[[mesh_rules]]\nmodifiers = []\n"), HasSubstr("missing_field at mesh_rules.0.instance"));
  EXPECT_THAT(error("[[mesh_rules]]\ninstance = 'a'\nmodifiers = [{type = 'SetField', path = 'seed'}]\n"),
              HasSubstr("missing_field at mesh_rules.0.modifiers.0.value"));
  EXPECT_EQ(error("[[mesh_rules]]\ninstance = 'a'\nmodifiers = [{type = 'Replace', from = 'FeedForward', "
                  "to = {type = 'GatedFeedForward'}}]\n"),
            "")
      << "what is put in may lack what it keeps of what was there";
  EXPECT_THAT(error("modifiers = [{type = 'SetField', path = 'data'}]\n"),
              AllOf(HasSubstr("missing_field: SetField needs value"), HasSubstr("x.toml:1")));
}

TEST_F(MeshRulesTest, EveryModifierOfTheModel) {
  const auto changes = [&](const std::string& text) {
    const Resolved out = resolve(experiments_.find("llama2_7b"), {.modifiers = {text}});
    EXPECT_THAT(out.report, Not(HasSubstr("all was so"))) << text;
    return out.report;
  };
  EXPECT_THAT(changes("SetRemat{policy.type = 'SaveDots'}"), HasSubstr("pattern.0.remat.type: (none) -> \"SaveDots\""));
  EXPECT_THAT(changes("SetPartitions{specs = {'**.qkv.**.weight_partition' = 'model,fsdp'}}"),
              HasSubstr("qkv.projection.linear.weight_partition: \"fsdp,model\" -> \"model,fsdp\""));
  EXPECT_THAT(changes("UseDot{dot = {type = 'PlainDot', compute_dtype = 'f32'}, within = 'model.decoder'}"),
              AllOf(HasSubstr("attention.output.dot.compute_dtype"), Not(HasSubstr("model.head"))));
  EXPECT_THAT(changes("UseDot{dot = {type = 'Fp8Dot', history = 4}, within = '**.feed_forward'}"),
              AllOf(HasSubstr("feed_forward.down.dot.type: \"PlainDot\" -> \"Fp8Dot\""),
                    HasSubstr("feed_forward.linear.dot.history: (none) -> 4"), Not(HasSubstr("attention"))));
  EXPECT_THAT(changes("AddLoRA{rank = 4, within = 'model.decoder'}"),
              AllOf(HasSubstr("attention.output.dot.rank: (none) -> 4"),
                    HasSubstr("attention.output.dot.dot.type: (none) -> \"PlainDot\""), Not(HasSubstr("model.head")),
                    HasSubstr("optimizer.rules.0.optimizer.type: (none) -> \"AdamW\""),
                    HasSubstr("optimizer.otherwise.type: (none) -> \"Frozen\"")));
  const Resolved both =
      resolve(experiments_.find("llama2_7b"),
              {.modifiers = {"AddLoRA{rank = 4}", "UseDot{dot.type = 'Int8Dot', within = 'model.head'}"}});
  const auto& head = both.config.model.as<CausalLm>().head.as<LinearHead>().linear->dot;
  ASSERT_TRUE(head.is<LoRA>()) << "adapters stay";
  EXPECT_TRUE(head.as<LoRA>().dot.is<Int8Dot>());
  EXPECT_THAT(changes("SetField{path = '**.qkv.theta', value = 5e5}"), HasSubstr("qkv.theta: 10000.0 -> 5e5"));
  EXPECT_THAT(changes("ScaleBatch{factor = 0.5}"), HasSubstr("data.batch_size: 1024 -> 512"));
  EXPECT_THAT(changes("ScaleDimension{field = 'model_dim', factor = 0.5}"), HasSubstr("model_dim: 4096 -> 2048"));
  EXPECT_THAT(changes("Freeze{parameters = '^embedding'}"),
              AllOf(HasSubstr("rules.0.optimizer.type: (none) -> \"Frozen\""),
                    HasSubstr("optimizer.otherwise.type: (none) -> \"AdamW\"")));
  const auto error = [&](const std::string& text) { return std::string(error_of([&] { changes(text); })->what()); };
  EXPECT_THAT(error("SetRemat"), HasSubstr("at --modify.policy: "));
  EXPECT_THAT(error("SetRemat{module = 'Trainer', policy.type = 'SaveDots'}"), HasSubstr("has no module Trainer"));
  EXPECT_THAT(error("SetPartitions{specs = {'model.decoder' = 'fsdp'}}"),
              HasSubstr("no partition spec's path matches"));
  EXPECT_THAT(error("SetPartitions{specs = {'**.qkv.**.weight_partition' = 'model,fsdp', '**.linear.*' = 'fsdp'}}"),
              AllOf(HasSubstr("two patterns match one partition spec"), HasSubstr("qkv.projection.linear."),
                    HasSubstr("\"**.linear.*\" and \"**.qkv.**.weight_partition\"")));
  EXPECT_THAT(error("ScaleBatch{factor = 0.3}"), HasSubstr("isn't a whole number of examples"));
  EXPECT_THAT(error("UseAttention"), HasSubstr("missing_field"));
}

}  // namespace
}  // namespace tenon
