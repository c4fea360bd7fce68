// Code of one's own in the loop of a run: a plug-in derives from StepHook and is named in the config.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/trainer/summary_writer.h"

namespace tenon {

// What a hook sees.
struct StepInfo {
  int64_t step = 0;  // steps done
  int64_t max_steps = 0;
  double seconds = 0;             // since this process began to train
  double seconds_since_save = 0;  // since it began, or last began to save
  // Behind a step "train/loss", "train/grad_norm", …; behind evaluations what they have just measured: "eval/loss", ….
  const Scalars& metrics;
  // All that the run's evaluators may give: "eval/loss", ….
  const std::vector<std::string>& evaluated;
};

// What a hook may ask for. Requests of all hooks are joined, and met before another step begins: evaluating, saving,
// stopping, in this order.
struct HookRequests {
  bool evaluate = false;
  bool save = false;
  // Why the run ends, as if it had reached max_steps: it evaluates, saves and returns. Empty: it goes on.
  std::string stop;
};

// Made anew for every run. For one thread. The numbers of a step come while the next one runs, so a request takes
// effect behind that one.
class StepHook : public Configurable {
 public:
  struct Config : AnyConfig {
    TENON_FIELDS()
  };
  // Before the first step of this process; `state` is what state() gave when the checkpoint was saved, empty in a new
  // run or when the checkpoint has none.
  virtual void begin(const StepInfo&, const std::string& /*state*/, HookRequests&) {}
  virtual void after_step(const StepInfo&, HookRequests&) {}
  // Once behind all evaluations of a step.
  virtual void after_evaluation(const StepInfo&, HookRequests&) {}
  // Saved with every checkpoint: what must survive a stop. UTF-8.
  virtual std::string state() const { return {}; }
};

// Ends the run when a metric of an evaluation hasn't become better, by more than `min_delta`, in so many evaluations in
// a row. One that isn't a number is never better.
class EarlyStopping final : public StepHook {
 public:
  struct Config : StepHook::Config {
    std::string metric = "eval/loss";
    int64_t patience = 3;
    double min_delta = 0;
    bool higher_is_better = false;
    void check(Checker& c) const;
    TENON_CONFIG(metric, patience, min_delta, higher_is_better)
  };
  explicit EarlyStopping(const Config& config);
  void begin(const StepInfo& info, const std::string& state, HookRequests& requests) override;
  void after_evaluation(const StepInfo& info, HookRequests& requests) override;
  std::string state() const override;

 private:
  void stop_if_due(HookRequests& requests) const;
  Config config_;
  double best_;
  int64_t worse_in_a_row_ = 0;
};

// Saves when the last save is so long ago, besides the trainer's save_every_n_steps.
class SaveEverySeconds final : public StepHook {
 public:
  struct Config : StepHook::Config {
    double seconds = 900;
    void check(Checker& c) const;
    TENON_CONFIG(seconds)
  };
  explicit SaveEverySeconds(const Config& config) : seconds_(config.seconds) {}
  void after_step(const StepInfo& info, HookRequests& requests) override;

 private:
  double seconds_;
};

// Ends the run, saved, once this process has trained for so long: below the time limit of a job.
class TimeLimit final : public StepHook {
 public:
  struct Config : StepHook::Config {
    Required<double> seconds;
    void check(Checker& c) const;
    TENON_CONFIG(seconds)
  };
  explicit TimeLimit(const Config& config) : seconds_(config.seconds) {}
  void after_step(const StepInfo& info, HookRequests& requests) override;

 private:
  double seconds_;
};

}  // namespace tenon
