// Runs for tests: directories, backends, child processes.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <map>
#include <memory>
#include <string>

#include "tenon/runtime/backend.h"
#include "tenon/trainer/test_model.h"

namespace tenon {

// One client for each number of devices.
std::shared_ptr<const Backend> cpu(int devices);

// What a child process does: trains the tiny model in `dir` for `steps` steps, saving every 5; its exit status.
int train_as_child(const std::string& dir, const std::string& platform, const std::string& steps);
Trainer::Config child_config(const std::string& dir, int64_t steps);
// Starts such a child; and waits for its exit status (128 + number for a signal).
pid_t start_child(const std::string& dir, const std::string& platform, int64_t steps);
int wait_for(pid_t child);

// "train/loss" by step, as the text in metrics.jsonl has it.
std::map<int64_t, std::string> losses(const std::string& dir);

// A new directory with a text in it.
class RunTest : public testing::Test {
 protected:
  RunTest();
  ~RunTest() override;
  void SetUp() override;
  std::string path(const std::string& name) const;
  Trainer::Config config(int64_t steps) const;
  // Trains in directory `name`; what it prints is kept in output_.
  TrainResult run(const std::string& name, const Trainer::Config& config, int devices = 1,
                  Resume resume = Resume::automatic);
  Error failure(const std::string& name, const Trainer::Config& config, Resume resume = Resume::automatic);

  std::string root_, output_;
  std::optional<StepRange> profile_;
  bool trap_ = false, new_optimizer_ = false, dry_run_ = false;
};

}  // namespace tenon
