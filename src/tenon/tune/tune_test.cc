// Whole searches of a small model.
#include "tenon/tune/tune.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tenon/base/file.h"
#include "tenon/base/lock_file.h"
#include "tenon/base/text.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/experiment.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/pjrt/plugin.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// Compiled for by the CPU's plugin, but with speeds of its own, which need no measuring.
constexpr const char* kAbacus = R"(
[abacus]
platform = "cpu"
memory_gib = 1.0
memory_source = "invented"
memory_gb_s = 1.0
bandwidth_source = "invented"
tflops = { bf16 = 0.001 }
tflops_source = "invented"
link_gb_s = 1.0
link_source = "invented"
host_devices = 4
network_gb_s = 0.5
network_source = "invented"
)";

class TuneTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  TuneTest() : dir_(std::filesystem::temp_directory_path() / ("tenon_tune_" + random_suffix())), remove_(dir_) {
    register_experiments(experiments_);
    options_.target = "abacus:1x4";
    options_.aot.chips = options_.aot.chips.with(ChipTable::parse(kAbacus, "abacus.toml").value());
    options_.global_batch = 8;
    options_.dir = dir_;
    options_.space.axes = {"data", "fsdp"};
    options_.space.remat = {"as_is"};
    options_.space.microbatches = {1, 16};
    options_.space.kernels = {"on"};
    // Fast to compile.
    overrides_.assignments = {"args.num_layers=1", "args.model_dim=16", "args.sequence_length=16",
                              "learner.optimizer.type=Sgd"};
  }
  void SetUp() override {
    if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  }
  TuneReport run() {
    said_.clear();
    return tune(experiments_.find("austen_tiny"), overrides_, options_, [&](const std::string& line) {
      said_.push_back(line);
      if (static_cast<int>(said_.size()) == killed_at_) throw Error(ErrorCode::interrupted, "killed");
    });
  }
  std::optional<Error> failure() {
    return error_of([&] { run().require_winner(); });
  }
  static std::vector<std::string> labels(const std::vector<TuneRow>& rows) {
    std::vector<std::string> out;
    for (const TuneRow& row : rows) out.push_back(row.label);
    return out;
  }
  std::string journal() const { return read_file(join_path(dir_, "journal.jsonl")).value(); }

  std::string dir_;
  RemoveAtEnd remove_;
  ExperimentRegistry experiments_;
  Overrides overrides_;
  TuneOptions options_;
  std::vector<std::string> said_;
  int killed_at_ = 0;
};

// Killed behind its second candidate, it goes on with the third.
TEST_F(TuneTest, SearchesAndGoesOn) {
  killed_at_ = 3;
  EXPECT_EQ(failure()->code(), ErrorCode::interrupted);
  // data=4 is what the experiment does anyway, and takes its place as the first.
  EXPECT_THAT(said_, ElementsAre(HasSubstr("7 candidates, 3 of them"), HasSubstr("1/3  data=4: "), HasSubstr("2/3  ")));
  const std::string before = journal();
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  EXPECT_EQ(lines(before), 1 + 2);  // the subject, two results
  // As a kill leaves it in the middle of a line.
  write_file_atomic(join_path(dir_, "journal.jsonl"), before + "{\"rule\": \"[{ty").value();

  killed_at_ = 0;
  const TuneReport report = run();
  EXPECT_TRUE(journal().starts_with(before));
  EXPECT_EQ(lines(journal()), 1 + 3);
  EXPECT_THAT(said_.front(), HasSubstr("going on from a journal of 2 results"));
  EXPECT_THAT(labels(report.ranked), UnorderedElementsAre("data=4", "fsdp=4", "data=2,fsdp=2"));
  EXPECT_THAT(labels(report.dropped), Contains("the experiment's own (no mesh rule)"));
  EXPECT_THAT(labels(report.dropped), Contains("fsdp=4 x16"));
  for (size_t i = 0; i < report.ranked.size(); ++i) {
    const TuneRow& row = report.ranked[i];
    EXPECT_GT(row.time.sum(), 0) << row.label;
    EXPECT_EQ(row.own, row.label == "data=4");
    EXPECT_GE(row.time.sum(), row.time.bound.seconds()) << row.label;
    EXPECT_GE(row.time.bound.seconds(), row.analysis->at_least_s) << row.label;
    EXPECT_GE(row.evaluation->bytes, row.analysis->least_bytes) << row.label;
    if (i > 0) {
      EXPECT_GE(row.seconds(), report.ranked[i - 1].seconds());
    }
  }
  EXPECT_EQ(report.speeds.peak(DType::f32), 1e9);
  // The file is the winner, and a run of it is what was compiled.
  EXPECT_THAT(read_file(report.rule_file).value(),
              AllOf(HasSubstr("base = \"austen_tiny\""), HasSubstr("args.batch_size = 8"),
                    HasSubstr(report.ranked.front().modifiers.front())));

  // A third run has nothing to do, and finds the same.
  const std::string after = journal();
  EXPECT_EQ(labels(run().ranked), labels(report.ranked));
  EXPECT_EQ(journal(), after);

  options_.global_batch = 16;
  EXPECT_THAT(failure()->what(), AllOf(HasSubstr("incompatible"), HasSubstr("of another global batch")));
  options_.global_batch = 8;
  options_.aot.allow_replication = true;
  EXPECT_THAT(failure()->what(), HasSubstr("of another description of the machine"));
}

TEST_F(TuneTest, StopsAtTheLimitAndMeasures) {
  options_.target = "cpu:2";
  options_.max_candidates = 1;
  options_.measure = 1;
  options_.measure_rounds = 2;
  const std::string text = dir_ + ".txt";
  const RemoveAtEnd remove(text);
  std::string words;
  for (int i = 0; i < 400; ++i) words += "all the men of good fortune ";
  write_file_atomic(text, words).value();
  overrides_.assignments.push_back("data.path=" + text);
  const TuneReport report = run();
  ASSERT_EQ(report.ranked.size(), 1U);
  EXPECT_TRUE(report.ranked[0].own) << report.ranked[0].label;
  EXPECT_GT(report.ranked[0].evaluation->measured_s.value_or(0), 0);
  EXPECT_EQ(std::count_if(report.dropped.begin(), report.dropped.end(),
                          [](const TuneRow& row) { return row.drop == Drop::not_tried; }),
            1);
  EXPECT_THAT(journal(), HasSubstr("measured_s"));
  EXPECT_GT(report.speeds.peak(DType::f32), 1e8);
  EXPECT_LT(report.speeds.peak(DType::bf16), 4 * report.speeds.peak(DType::f32));
  EXPECT_GT(report.speeds.memory, 1e7);
  EXPECT_GT(report.speeds.collective_s, 0);
}

// Both schedules, held against a split of the batch; a stack that doesn't divide isn't tried.
TEST_F(TuneTest, SearchesPipelines) {
  options_.target = "abacus:1x2";
  options_.space.axes = {"pipeline", "data"};
  options_.space.microbatches = {4};
  overrides_.assignments = {"args.num_layers=2", "args.model_dim=16", "args.sequence_length=16",
                            "learner.optimizer.type=Sgd"};
  TuneReport report = run();
  EXPECT_THAT(labels(report.ranked), UnorderedElementsAre("the experiment's own (no mesh rule)", "data=2 x4",
                                                          "pipeline=2 x4", "pipeline=2 x4, one_f_one_b"));
  for (const TuneRow& row : report.ranked) {
    EXPECT_GE(row.evaluation->bytes, row.analysis->least_bytes) << row.label;
    EXPECT_GE(row.time.bound.seconds(), row.analysis->at_least_s) << row.label;
  }
  // Another stack, so another search.
  options_.dir = dir_ + "/other";
  overrides_.assignments[0] = "args.num_layers=1";
  report = run();
  EXPECT_THAT(labels(report.ranked), Not(Contains(HasSubstr("pipeline"))));
  const auto refused = std::find_if(report.dropped.begin(), report.dropped.end(),
                                    [](const TuneRow& row) { return row.label == "pipeline=2 x4"; });
  ASSERT_NE(refused, report.dropped.end());
  EXPECT_THAT(refused->why, HasSubstr("layers don't divide over the pipeline"));
  // What takes the pipeline back is said, not tried.
  options_.dir = dir_ + "/third";
  overrides_.assignments = {"args.num_layers=2", "model.decoder.pipeline.microbatches=2"};
  EXPECT_EQ(failure()->code(), ErrorCode::incompatible);
}

// Its arguments are known to be too large before anything is compiled.
TEST_F(TuneTest, NothingFits) {
  std::string small = kAbacus;
  small.replace(small.find("1.0"), 3, "0.0001");
  options_.aot.chips = options_.aot.chips.with(ChipTable::parse(small, "abacus.toml").value());
  overrides_.assignments.push_back("args.model_dim=128");
  const std::optional<Error> e = failure();
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::out_of_memory);
  EXPECT_THAT(e->what(), HasSubstr("no candidate fits"));
  EXPECT_FALSE(exists(join_path(dir_, "rule.toml")));
}

TEST_F(TuneTest, Mistakes) {
  const auto expect = [&](ErrorCode code, const char* part) {
    const std::optional<Error> e = failure();
    ASSERT_TRUE(e) << part;
    EXPECT_EQ(e->code(), code) << e->what();
    EXPECT_THAT(e->what(), HasSubstr(part));
  };
  options_.target = "v9:2x2";
  expect(ErrorCode::unknown_name, "v5p");
  options_.target = "trn2:1x16";
  expect(ErrorCode::unsupported, "--target");
  options_.target = "v5p:2x2x1";
  options_.measure = 2;
  expect(ErrorCode::unsupported, "--measure");
  options_.measure = 0;
  options_.target = "abacus:1x4";
  options_.max_candidates = 0;
  expect(ErrorCode::invalid_argument, "--max_candidates");
  options_.max_candidates = 1;
  EXPECT_FALSE(exists(dir_));

  options_.dir = join_path(dir_ + ".file", "folder");
  const RemoveAtEnd remove(parent_dir(options_.dir));
  write_file_atomic(parent_dir(options_.dir), "no folder").value();
  expect(ErrorCode::io, ".file: can't create the directory");
  make_dirs(dir_).value();
  options_.dir = dir_;
  {
    const LockFile lock = LockFile::acquire(join_path(dir_, "LOCK")).value();
    expect(ErrorCode::io, "LOCK");
  }
  options_.global_batch = 7;
  expect(ErrorCode::invalid_argument, "at --global_batch: the batch divides over no mesh");
  options_.dir = dir_ + "/other";
  options_.global_batch = 8;
  overrides_.assignments.push_back("mesh.data=2");
  expect(ErrorCode::incompatible, "--set, --modify or --also takes back");
}

}  // namespace
}  // namespace tenon
