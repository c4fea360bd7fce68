#include "tenon/experiments/experiment.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "tenon/base/file.h"
#include "tenon/config/field_audit.h"
#include "tenon/config/registry.h"
#include "tenon/config/text.h"
#include "tenon/config/validate.h"
#include "tenon/data/text_dataset.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/causal_lm.h"

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
  EXPECT_EQ(names, (std::vector<std::string>{"austen", "austen_tiny"}));
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
}

TEST_F(ExperimentsTest, AreWholeAndLoadBack) {
  for (const Experiment* e : experiments_.all()) {
    const Trainer::Config config = e->make();
    EXPECT_EQ(error_of([&] { validate(config); }), std::nullopt) << e->name;
    EXPECT_EQ(*from_toml(to_toml(config)), static_cast<const AnyConfig&>(config)) << e->name;
  }
}

// Every field of every experiment is text in the tree, so that a change shows all it touches. To accept one, run this
// test with TENON_UPDATE_GOLDEN=1.
TEST_F(ExperimentsTest, ConfigsAreThoseInTheTree) {
  for (const Experiment* e : experiments_.all()) {
    const std::string file = std::string(TENON_SOURCE_DIR) + "/src/tenon/experiments/golden/" + e->name + ".toml";
    const std::string text = to_toml(e->make());
    if (std::getenv("TENON_UPDATE_GOLDEN") != nullptr) write_file_atomic(file, text).value();
    EXPECT_EQ(read_file(file).value(), text) << "changed: " << file;
  }
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
