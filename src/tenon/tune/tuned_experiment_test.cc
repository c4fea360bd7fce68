#include "tenon/tune/tuned_experiment.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tenon/base/file.h"
#include "tenon/config/registry.h"
#include "tenon/config/text.h"
#include "tenon/data/dataset.h"
#include "tenon/experiments/austen.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/runtime/testing/chip_text.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

class TunedExperimentTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  TunedExperimentTest() { register_experiments(experiments_); }
  TunedExperiment tuned(const char* name, const char* target, int64_t batch, Overrides overrides = {}) const {
    return {experiments_.find(name), std::move(overrides), AotTarget::parse(target), batch};
  }
  ExperimentRegistry experiments_;
};

TEST_F(TunedExperimentTest, ARuleTakesThePlaceOfTheExperimentsOwn) {
  const TunedExperiment e = tuned("llama2_7b", "h100:4x8", 256);
  EXPECT_EQ(e.instance(), "gpu-h100-32");
  EXPECT_TRUE(e.own_rule().starts_with("mesh rule ")) << e.own_rule();
  EXPECT_FALSE(diff(e.bare(), e.by_own_rule()).empty());
  EXPECT_EQ(tuned("llama2_test", "cpu:2", 8).own_rule(), "no mesh rule");
  EXPECT_EQ(e.by_own_rule().data->batch_size.value(), 256);
  // The batch is an argument: the steps come from it (2e12 tokens of 4,096 a sequence).
  EXPECT_EQ(e.bare().max_steps.value(), 1 + (2'000'000'000'000 - 1) / (256 * 4096));
  const Trainer::Config c = e.by_rule({R"({type = "SetMesh", mesh = {data = 1, fsdp = 16, model = 2}})"});
  EXPECT_EQ(c.mesh.fsdp, 16);
  EXPECT_EQ(c.mesh.model, 2);
  const std::vector<Difference> changed = diff(e.bare(), c);
  for (const Difference& d : changed) EXPECT_THAT(d.path, HasSubstr("mesh."));
}

TEST_F(TunedExperimentTest, TheFileGivesTheSameConfig) {
  Overrides overrides;
  overrides.instance = "gpu-a.b-(8)";
  overrides.assignments = {"args.num_layers=2", "seed=3"};
  const TunedExperiment e = tuned("llama2_test", "h100:8", 16, overrides);
  Candidate candidate;
  candidate.mesh = Mesh{{"fsdp", 4}, {"model", 2}};
  candidate.remat = "attention";
  candidate.microbatches = 2;
  candidate.kernels = false;
  const RuleModifiers modifiers = modifiers_of(candidate);
  const std::string path = std::filesystem::temp_directory_path() / ("tenon_rule_" + random_suffix() + ".toml");
  const RemoveAtEnd remove(path);
  const std::string text = e.rule_file(modifiers, "two\nlines");
  write_file_atomic(path, text).value();
  EXPECT_THAT(text, HasSubstr("# two\n# lines\nbase = \"llama2_test\"\nargs.batch_size = 16\n"));
  EXPECT_THAT(text, HasSubstr("instance = \"gpu-a\\\\.b-\\\\(8\\\\)\"\n"));
  EXPECT_TRUE(diff(e.by_rule(modifiers), e.by_file(path)).empty());
  const Trainer::Config c = e.by_file(path);
  EXPECT_EQ(c.mesh.fsdp, 4);
  EXPECT_EQ(c.accumulation, 2);
  EXPECT_EQ(c.seed, 3);
  EXPECT_FALSE(c.kernels.disable.empty());
  EXPECT_THAT(to_toml(c), HasSubstr("remat.type = \"SaveTags\""));
  // Another command line: train with that file and instance alone.
  Overrides train;
  train.files = {path};
  train.instance = overrides.instance;
  train.assignments = overrides.assignments;
  EXPECT_TRUE(diff(resolve(experiments_.find("llama2_test"), train).config, c).empty());
  EXPECT_EQ(
      e.train_command("a b.toml"),
      "tenon train llama2_test --config 'a b.toml' --set args.num_layers=2 --set seed=3 --instance 'gpu-a.b-(8)'");
  // Without a rule the experiment's own act.
  write_file_atomic(path, e.rule_file({}, "")).value();
  EXPECT_TRUE(diff(e.by_own_rule(), e.by_file(path)).empty());
}

// A chip's own rules act where the experiment has none for it, and a candidate's takes their place.
TEST_F(TunedExperimentTest, RulesOfADescribedChip) {
  const std::string text = std::string("[z1]\nplatform = \"cpu\"\n") + kChipSpeeds + R"([[z1.mesh_rules]]
instance = "cpu-z1-.*"
modifiers = [{ type = "SetMesh", mesh = { data = 1, fsdp = -1, model = 2 } }]
)";
  const ChipTable chips = ChipTable::builtin().with(ChipTable::parse(text, "z1.toml").value());
  const TunedExperiment e(experiments_.find("austen_tiny"), {}, AotTarget::parse("z1:4", chips), 8, chips);
  EXPECT_EQ(e.instance(), "cpu-z1-4");
  EXPECT_EQ(e.own_rule(), "mesh rule 0 of device z1");
  EXPECT_EQ(e.by_own_rule().mesh.model, 2);
  EXPECT_EQ(e.bare().mesh.model, 1);
  EXPECT_EQ(e.by_rule({R"({type = "SetMesh", mesh = {data = 4}})"}).mesh.model, 1);
}

TEST_F(TunedExperimentTest, NamesOfMachines) {
  const auto name = [](const char* target) { return instance_name(AotTarget::parse(target)); };
  EXPECT_EQ(name("cpu:8"), "cpu-8");
  EXPECT_EQ(name("h100:32x8"), "gpu-h100-256");
  EXPECT_EQ(name("v5p:8x8x8"), "tpu-v5p-1024");
  EXPECT_EQ(name("v5e:16x16"), "tpu-v5e-256");
  EXPECT_EQ(name("v5e:16x16*2"), "tpu-v5e-256-2");
  EXPECT_EQ(name("v4:2x2x1"), "tpu-v4-8");
  EXPECT_EQ(name("tpu7x:2x2x1"), "tpu-tpu7x-8");
  EXPECT_EQ(name("trn2:1x16"), "neuron-trn2-16");
  EXPECT_EQ(literal_regex("a.b"), "a\\.b");
}

TEST_F(TunedExperimentTest, WhatChangesTheBatchAgainIsAnError) {
  Overrides overrides;
  overrides.modifiers = {"ScaleBatch{factor = 2}"};
  const std::optional<Error> e = error_of([&] { tuned("austen_tiny", "cpu:2", 8, overrides); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->path(), "data.batch_size");
  EXPECT_EQ(error_of([&] { tuned("austen_tiny", "cpu:2", -8); })->code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace tenon
