#include "tenon/trainer/run_history.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/base/file.h"
#include "tenon/base/lock_file.h"

namespace tenon {
namespace {

using testing::HasSubstr;

class RunHistoryTest : public testing::Test {
 protected:
  RunHistoryTest() : root_(testing::TempDir() + "tenon_history_" + random_suffix()) {}
  ~RunHistoryTest() override { remove_tree(root_).value(); }
  std::string path(const std::string& name) const { return join_path(root_, name); }
  void write(const std::string& name, const std::string& text) const {
    make_dirs(parent_dir(path(name))).value();
    write_file_atomic(path(name), text).value();
  }
  std::string root_;
};

TEST_F(RunHistoryTest, TellsStatesAndNumbers) {
  write("a/config.toml", "max_steps = 20\n");
  write("a/metrics.jsonl",
        "{\"step\":10,\"time\":1.5,\"train/loss\":3.5}\n{\"step\":20,\"train/loss\":2.5}\n"
        "{\"step\":20,\"eval/loss\":2.25,\"eval/loss.accuracy\":0.75,\"eval/bits_per_byte\":3.25}\n{\"step\":30,\"tra");
  make_dirs(path("a/step_00000020")).value();
  write("deep/b/metrics.jsonl", "{\"step\":5,\"train/loss\":\"nan\"}\n");
  write("deep/b/config.toml", "max_steps = 20\n");
  write("deep/c/config.toml", "not toml");
  const LockFile held = LockFile::acquire(path("deep/c/LOCK")).value();
  make_dirs(path("empty")).value();

  const std::vector<RunStatus> runs = find_runs(root_).value();
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].dir, path("a"));
  EXPECT_EQ(runs[0].state, "finished");
  EXPECT_EQ(runs[0].step, 20);
  EXPECT_EQ(runs[0].saved_step, 20);
  EXPECT_EQ(runs[0].train_loss, 2.5);
  EXPECT_EQ(runs[0].eval_loss, 2.25);
  EXPECT_EQ(runs[0].accuracy, 0.75);
  EXPECT_EQ(runs[0].bits_per_byte, 3.25);
  EXPECT_EQ(runs[1].state, "stopped");
  EXPECT_TRUE(std::isnan(*runs[1].train_loss));
  EXPECT_EQ(runs[2].state, "running");
  EXPECT_EQ(runs[2].step, 0);
  EXPECT_EQ(find_runs(path("a")).value().size(), 1u);
  // What was saved counts, where a run was killed before it could log.
  make_dirs(path("deep/b/step_00000020")).value();
  EXPECT_EQ(find_runs(path("deep")).value()[0].step, 20);
  const std::string table = format_runs(runs);
  EXPECT_THAT(table, HasSubstr("running   0/-    -      -"));
  EXPECT_THAT(table, HasSubstr("finished  20/20  20     2.5000      2.2500     0.7500    3.2500\n"));
  EXPECT_EQ(find_runs(path("empty")).error().code(), ErrorCode::not_found);
  EXPECT_EQ(find_runs(path("none")).error().code(), ErrorCode::not_found);
}

TEST_F(RunHistoryTest, ReadsCurves) {
  write("metrics.jsonl",
        "{\"step\":2,\"x\":1.5}\nrubbish\n{\"step\":1,\"x\":\"inf\",\"y\":1}\n{\"step\":2,\"x\":2.5}\n");
  const auto curve = read_metric(root_, "x").value();
  ASSERT_EQ(curve.size(), 2u);
  EXPECT_EQ(curve[0], (std::pair<double, double>(1, INFINITY)));
  EXPECT_EQ(curve[1], (std::pair<double, double>(2, 2.5)));
  const Error e = read_metric(root_, "z").error();
  EXPECT_EQ(e.code(), ErrorCode::unknown_name);
  EXPECT_THAT(e.what(), HasSubstr("expected x, y"));
  EXPECT_EQ(read_metric(path("none"), "x").error().code(), ErrorCode::not_found);
}

}  // namespace
}  // namespace tenon
