#include "tenon/checkpoint/keep_policy.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/checkpoint/checkpoint_test_util.h"

namespace tenon {
namespace {

using testing::ElementsAre;

std::vector<KeepCandidate> candidates(const std::vector<std::optional<double>>& metrics) {
  std::vector<KeepCandidate> out;
  for (size_t i = 0; i < metrics.size(); ++i) out.push_back({static_cast<int64_t>(i + 1), metrics[i]});
  return out;
}

TEST(KeepPolicy, LastEveryAndBest) {
  const auto all = candidates({3.0, 1.0, 2.0, std::nullopt, 5.0, 4.0, NAN, 6.0});
  EXPECT_THAT(steps_to_remove({.last_n = 2}, all), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(steps_to_remove({.last_n = 1, .every_n_steps = 3}, all), ElementsAre(1, 2, 4, 5, 7));
  EXPECT_THAT(steps_to_remove({.last_n = 1, .best_n = 2}, all), ElementsAre(1, 4, 5, 6, 7));
  EXPECT_THAT(steps_to_remove({.last_n = 1, .best_n = 2, .best = Best::highest}, all), ElementsAre(1, 2, 3, 4, 6, 7));
  EXPECT_THAT(steps_to_remove({.last_n = 1, .best_n = 100}, all), ElementsAre(4, 7));
  EXPECT_THAT(steps_to_remove({.last_n = 100}, all), ElementsAre());
  EXPECT_THAT(steps_to_remove({.last_n = 1}, {}), ElementsAre());
  // Of equal ones the later.
  EXPECT_THAT(steps_to_remove({.last_n = 1, .best_n = 1}, candidates({1.0, 1.0, 2.0})), ElementsAre(1));
}

TEST(KeepPolicy, MetricsInMetadata) {
  std::map<std::string, std::string> metadata = {{"metric.broken", "x"}, {"other", "1"}};
  put_metric(metadata, "eval/loss", 2.25);
  EXPECT_EQ(get_metric(metadata, "eval/loss"), 2.25);
  EXPECT_EQ(get_metric(metadata, "broken"), std::nullopt);
  EXPECT_EQ(get_metric(metadata, "other"), std::nullopt);
  EXPECT_EQ(get_metrics(metadata), (std::map<std::string, double>{{"eval/loss", 2.25}}));
}

// On disk, a save at a time: what was best stays behind newer ones.
TEST_F(CheckpointDirTest, TheBestStayWhileTheRunGoesOn) {
  SaveOptions o = options(1);
  o.keep.best_n = 1;
  o.keep.every_n_steps = 4;
  CheckpointWriter writer = CheckpointWriter::open(dir_, o).value();
  const double losses[] = {5, 2, 3, 4, 4, 1, 7};
  const std::vector<std::vector<int64_t>> expected = {{1}, {2}, {2, 3}, {2, 4}, {2, 4, 5}, {4, 6}, {4, 6, 7}};
  for (int64_t step = 1; step <= 7; ++step) {
    SaveRequest request = example_request(step);
    put_metric(request.metadata, "eval/loss", losses[step - 1]);
    writer.save(request).value();
    EXPECT_EQ(list_steps(dir_).value(), expected[static_cast<size_t>(step - 1)]) << step;
  }
}

// The best is damaged: it can't be proved good, so it neither counts nor goes.
TEST_F(CheckpointDirTest, ADamagedBestDoesNotCount) {
  SaveOptions o = options(1);
  o.keep.best_n = 1;
  CheckpointWriter writer = CheckpointWriter::open(dir_, o).value();
  for (int64_t step = 1; step <= 3; ++step) {
    SaveRequest request = example_request(step);
    put_metric(request.metadata, "eval/loss", static_cast<double>(step));
    writer.save(request).value();
    if (step == 1) write_file_atomic(path("step_00000001/config.toml"), "").value();
  }
  EXPECT_THAT(list_steps(dir_).value(), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace tenon
