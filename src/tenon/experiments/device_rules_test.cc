#include "tenon/experiments/device_rules.h"

#include <gmock/gmock.h>

#include "tenon/config/registry.h"
#include "tenon/experiments/resolve.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/runtime/testing/chip_text.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// With these lines behind, the first of which is line 14.
std::shared_ptr<const Chip> device(const std::string& lines) {
  const std::string text = std::string("[z1]\nplatform = \"cpu\"\n") + kChipSpeeds + lines;
  return std::make_shared<const Chip>(ChipTable::parse(text, "z.toml").value().find("z1"));
}

class DeviceRulesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  DeviceRulesTest() { register_experiments(experiments_); }
  Resolved on(const std::string& instance, std::shared_ptr<const Chip> chip, const char* experiment = "llama2_7b") {
    Overrides overrides;
    overrides.instance = instance;
    overrides.device = std::move(chip);
    return resolve(experiments_.find(experiment), overrides);
  }
  ExperimentRegistry experiments_;
};

TEST_F(DeviceRulesTest, AreAskedBehindTheExperiments) {
  const auto chip = device(R"([[z1.mesh_rules]]
instance = "(z1|tpu-v5e)-.*"
modifiers = [{ type = "SetMesh", mesh = { data = 1, fsdp = -1, model = 2 } }]
)");
  const Resolved own = on("z1-8", chip);
  EXPECT_EQ(own.config.mesh.model, 2);
  EXPECT_THAT(own.report, StartsWith("mesh rule 0 of device z1, \"(z1|tpu-v5e)-.*\", matches \"z1-8\"\nSetMesh: "));
  const Resolved shared = on("tpu-v5e-256", chip);
  EXPECT_EQ(shared.config.mesh.fsdp, 256);
  EXPECT_THAT(shared.report, StartsWith("mesh rule 1, "));
  EXPECT_THAT(on("abacus-7", chip).report, StartsWith("no mesh rule matches \"abacus-7\": there are "));
}

// The rule that the reference system has for it: fsdp=-1, model=4.
TEST_F(DeviceRulesTest, Trn2HasOneForEveryExperiment) {
  const auto trn2 = std::make_shared<const Chip>(ChipTable::builtin().find("trn2"));
  const std::string instance = trn2->instance(1024);
  EXPECT_EQ(instance, "neuron-trn2-1024");
  for (const char* experiment : {"austen", "llama2_7b", "llama3_405b"}) {
    EXPECT_EQ(to_string(on(instance, trn2, experiment).config.mesh.resolve(1024)), "fsdp=256,model=4") << experiment;
  }
}

TEST_F(DeviceRulesTest, MistakesSayWhere) {
  const auto refused = [&](const std::string& rule) {
    return error_of([&] { on("z1-8", device("[[z1.mesh_rules]]\n" + rule)); });
  };
  const auto unknown = refused("instance = \".*\"\nmodifiers = [{ type = \"SetMsh\" }]\n");
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->code(), ErrorCode::unknown_name);
  EXPECT_THAT(unknown->what(), AllOf(HasSubstr("z.toml:16"), HasSubstr("did you mean SetMesh?")));
  const auto field = refused("instance = \".*\"\nmodifiers = [{ type = \"SetMesh\", mesh = { modle = 4 } }]\n");
  ASSERT_TRUE(field);
  EXPECT_THAT(field->what(), AllOf(HasSubstr("z.toml:16"), HasSubstr("did you mean model?")));
  const auto regex = refused("instance = \"(\"\n");
  ASSERT_TRUE(regex);
  EXPECT_THAT(regex->what(), AllOf(HasSubstr("z.toml:15"), HasSubstr("mesh_rules.0.instance")));
  const auto missing = refused("modifiers = []\n");
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->code(), ErrorCode::missing_field);
  EXPECT_THAT(missing->what(), AllOf(HasSubstr("z.toml:14"), HasSubstr("mesh_rules.0.instance")));
}

}  // namespace
}  // namespace tenon
