#include "tenon/experiments/experiment.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tenon/base/clock.h"
#include "tenon/config/field_audit.h"
#include "tenon/config/registry.h"
#include "tenon/config/text.h"
#include "tenon/config/validate.h"
#include "tenon/data/text_dataset.h"
#include "tenon/experiments/golden.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/language/causal_lm.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

class ExperimentsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  ExperimentsTest() { register_experiments(experiments_); }
  ExperimentRegistry experiments_;
};

TEST_F(ExperimentsTest, AreFoundByName) {
  EXPECT_EQ(experiments_.find("austen").name, "austen");
  std::vector<std::string> names;
  for (const Experiment* e : experiments_.all()) {
    names.push_back(e->name);
    EXPECT_NE(e->description, "");
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"austen", "austen_tiny", "llama2_70b", "llama3_8b-single_host"}));
}

TEST_F(ExperimentsTest, UnknownOnesNameTheNearest) {
  const auto e = error_of([&] { experiments_.find("austin"); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::unknown_name);
  EXPECT_THAT(e->hint(), HasSubstr("austen"));
  EXPECT_THAT(error_of([&] { experiments_.find("zzzzzzzz"); })->hint(), HasSubstr("tenon config list"));
}

TEST_F(ExperimentsTest, NamesAreTakenOnce) {
  const auto e = error_of([&] { experiments_.add(experiments_.find("austen")); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::invalid_argument);
  for (const char* name : {"", "a b", "-a", "a.toml", "../a"}) {
    Experiment other = experiments_.find("austen");
    other.name = name;
    EXPECT_THAT(error_of([&] { experiments_.add(other); })->what(), HasSubstr("can't name an experiment")) << name;
  }
}

TEST_F(ExperimentsTest, AreWholeAndLoadBack) {
  for (const Experiment* e : experiments_.all()) {
    const Trainer::Config config = resolve(*e, {}).config;
    EXPECT_EQ(error_of([&] { validate(config); }), std::nullopt) << e->name;
    EXPECT_EQ(*from_toml(to_toml(config)), static_cast<const AnyConfig&>(config)) << e->name;
  }
}

// To accept a change: scripts/update_goldens.
TEST_F(ExperimentsTest, AreThoseInTheTree) {
  std::vector<GoldenSubject> subjects;
  for (const Experiment* e : experiments_.all()) subjects.push_back({e->name, e});
  const std::string dir = std::string(TENON_SOURCE_DIR) + "/src/tenon/experiments/golden";
  const GoldenReport report = check_goldens(dir, subjects);
  EXPECT_TRUE(report.changed.empty()) << to_string(report);
  std::set<std::string> files, expected;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) files.insert(entry.path().filename());
  for (const GoldenSubject& subject : subjects) expected.insert(subject.name + ".golden");
  EXPECT_EQ(files, expected);
}

TEST_F(ExperimentsTest, AreResolvedModifiedAndPrintedInMilliseconds) {
  const Overrides overrides{.assignments = {"seed=7", "args.num_layers=12"},
                            .instance = "gpu-h100-256",
                            .modifiers = {"Replace{from = 'AttentionCore', to.type = 'DotProductAttention'}"}};
  double best = 1;
  for (int i = 0; i < 10; ++i) {
    const double began = steady_seconds();
    EXPECT_NE(to_toml(resolve(experiments_.find("llama3_405b"), overrides).config), "");
    best = std::min(best, steady_seconds() - began);
  }
  EXPECT_LT(best, 0.1);  // twenty times what it may take without sanitizers on an idle machine
}

TEST_F(ExperimentsTest, MissingFieldsAreAllNamed) {
  Trainer::Config config;
  config.model = CausalLm::Config();
  config.data = TextDataset::Config();
  const auto e = error_of([&] { validate(config); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::missing_field);
  for (const char* path : {"max_steps", "data.path", "model.vocab_size", "model.model_dim",
                           "model.decoder.pattern.0.attention.num_heads"}) {
    EXPECT_THAT(std::string(e->what()), HasSubstr(path));
  }
}

TEST_F(ExperimentsTest, NoFieldOfAnyClassIsForgotten) { EXPECT_EQ(audit_fields(Registry::global()), ""); }

}  // namespace
}  // namespace tenon
