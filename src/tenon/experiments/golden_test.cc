#include "tenon/experiments/golden.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tenon/base/file.h"
#include "tenon/config/registry.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GoldenTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  GoldenTest() : dir_(std::filesystem::temp_directory_path() / ("tenon_golden_" + random_suffix())) {
    register_experiments(experiments_);
    for (const char* name : {"austen", "austen_tiny", "llama2_test"}) {
      subjects_.push_back(golden_subject(experiments_, name));
    }
  }
  ~GoldenTest() override { std::filesystem::remove_all(dir_); }

  std::filesystem::path dir_;
  ExperimentRegistry experiments_;
  std::vector<GoldenSubject> subjects_;
};

TEST_F(GoldenTest, HoldsAllThatAnExperimentComesTo) {
  const std::string text = to_string(golden_lines(subjects_[1]));
  // 2 layers, stacked; model_dim 32, hidden_dim 64.
  EXPECT_THAT(text, AllOf(HasSubstr("config.model.model_dim = 32\n"),
                          HasSubstr("parameters.decoder.layers.0::1.feed_forward.down.weight = [2,64,32] split "
                                    "\"-,model,fsdp\" stack 2 init {type = \"FanInNormal\", scale = 0.2} decay 1.0\n"),
                          HasSubstr("parameters.decoder.norm.scale = [32] split \"\" init {type = \"Constant\", value "
                                    "= 1.0} decay 0.0\n"),
                          HasSubstr("learner.scalars.learning_rate = 0.01, "),
                          HasSubstr("learner.state.m.embedding.weight = [259,32] split \"model,fsdp\"\n")));
  EXPECT_THAT(
      to_string(golden_lines(golden_subject(experiments_, "llama2_7b"))),
      HasSubstr("mesh_rules.0.instance = \"tpu-v4-(1024|2048)\"\nmesh_rules.0.0.SetMesh = {type = \"SetMesh\", mesh = "
                "{"));
}

TEST_F(GoldenTest, ChangesAreSummedUp) {
  EXPECT_EQ(to_string(update_goldens(dir_, subjects_)),
            "3 of 3 goldens differ\nnew: austen, austen_tiny, llama2_test\n");
  EXPECT_EQ(to_string(check_goldens(dir_, subjects_)), "0 of 3 goldens differ\n");
  for (GoldenSubject& subject : subjects_) subject.overrides.assignments = {"args.hidden_dim=48"};
  subjects_[1].overrides.assignments.emplace_back("seed=9");
  const GoldenReport report = check_goldens(dir_, subjects_);
  EXPECT_THAT(to_string(report), AllOf(HasSubstr("3 of 3 goldens differ\n3 experiments change "),
                                       HasSubstr("\n3 experiments change hidden_dim\n  austen: config.model.decoder."
                                                 "pattern.0.feed_forward.hidden_dim: 352 -> 48\n"),
                                       HasSubstr("\n3 experiments change parameters weight\n"),
                                       HasSubstr("\n1 experiment changes seed\n  austen_tiny: config.seed: 0 -> 9\n")));
  EXPECT_EQ(check_goldens(dir_, subjects_).changed.size(), 3u) << "checking writes nothing";
  update_goldens(dir_, subjects_);
  EXPECT_TRUE(check_goldens(dir_, subjects_).changed.empty());
}

TEST_F(GoldenTest, EachHasAFileOfItsOwn) {
  subjects_.push_back(subjects_[0]);
  EXPECT_THAT(error_of([&] { update_goldens(dir_, subjects_); })->what(), HasSubstr("got austen.golden"));
  std::filesystem::create_directories(dir_);
  const std::string file = dir_ / "llama2_test.toml";
  write_file_atomic(file, "base = \"austen_tiny\"\n").value();
  const auto e = error_of([&] { golden_subject(experiments_, file); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::invalid_argument);
  EXPECT_EQ(e->path(), file);
}

TEST_F(GoldenTest, FolderThatIsntThere) {
  EXPECT_EQ(error_of([&] { check_goldens(dir_, subjects_); })->code(), ErrorCode::not_found);
}

TEST_F(GoldenTest, FilesThatAreNoGoldens) {
  update_goldens(dir_, subjects_);
  write_file_atomic((dir_ / "austen.golden").string(), "a = 1\na = 2\n").value();
  const auto e = error_of([&] { check_goldens(dir_, subjects_); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::damaged);
  EXPECT_THAT(e->path(), HasSubstr("austen.golden:2"));
  EXPECT_EQ(error_of([&] { golden_subject(experiments_, "austin"); })->code(), ErrorCode::unknown_name);
}

}  // namespace
}  // namespace tenon
