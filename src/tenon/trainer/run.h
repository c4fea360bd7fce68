// One run of a trainer in a directory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/base/clock.h"
#include "tenon/checkpoint/async_saver.h"
#include "tenon/data/dataset.h"
#include "tenon/trainer/evaluator.h"
#include "tenon/trainer/run_log.h"
#include "tenon/trainer/step_hook.h"
#include "tenon/trainer/stop_signal.h"
#include "tenon/trainer/summary_writer.h"
#include "tenon/trainer/train_session.h"
#include "tenon/trainer/trainer.h"

namespace tenon {

// Seconds between start and stop, added up.
class Stopwatch {
 public:
  void start() { running_since_ = steady_seconds(); }
  void stop() {
    before_ = seconds();
    running_since_.reset();
  }
  bool running() const { return running_since_.has_value(); }
  double seconds() const { return before_ + (running_since_ ? steady_seconds() - *running_since_ : 0); }

 private:
  double before_ = 0;
  std::optional<double> running_since_;
};

class Run {
 public:
  Run(const Trainer& trainer, const RunOptions& options);
  ~Run();
  TrainResult train();

 private:
  // A step whose metrics may still be on the way.
  struct Pending {
    int64_t step = 0;
    Array metrics;
  };
  // Sums since the last log line.
  struct Window {
    int64_t steps = 0;
    double loss = 0, weight = 0;
    double since = 0, waited_since = 0, data_since = 0;  // on the clocks of steps, waiting and data
  };
  struct NamedEvaluator {
    std::string name;
    std::unique_ptr<Evaluator> evaluator;
    int64_t every_n_steps = 0;
    std::optional<int64_t> done_step;
  };

  TrainResult dry_run();
  TrainResult finish();
  void open_dir();
  void find_checkpoint();
  void open_init_from();
  void compile_programs();
  void prepare_evaluators();
  void check_best_metric() const;
  void start();
  void restore(const OpenedCheckpoint& checkpoint);
  void initialize();
  void begin_hooks();
  // What of the learner goes on from checkpoint_; throws unless that is all, or the options say that it needn't be.
  LearnerMatch check_learner(const Learner* saved) const;
  void report_match();
  // Logs what changed since the checkpoint. Returns the learner of its config; none when that can't be read.
  std::unique_ptr<Learner> compare_configs(const OpenedCheckpoint& checkpoint);
  void open_summaries();
  void loop();
  void step(const Batch& batch);
  void pause_if_due();
  // Around each step: starts and ends the recording where it is due.
  void begin_profile();
  void end_profile();
  // Reads the metrics of the step before, if they weren't yet. Returns whether that step wasn't finite.
  bool settle();
  Literal read_metrics(const Pending& done);
  void log_window(int64_t step, const Scalars& metrics);
  // The mean since the last log line; directly behind one, what it said.
  double train_loss() const {
    return window_.steps > 0 ? window_.loss / static_cast<double>(window_.steps) : result_.train_loss;
  }
  Progress progress(int64_t step) const;
  StepInfo step_info(int64_t step, const Scalars& metrics) const;
  void tell_hooks(int64_t step, const Scalars& metrics);
  void for_each_hook(const std::function<void(StepHook&)>& call);
  // Those that are due at this step, or all that haven't measured it yet.
  void evaluate(bool all);
  Scalars evaluate(NamedEvaluator& evaluator);
  bool any_due() const;
  void save();
  SaveRequest save_request();
  void write_histograms(const SaveRequest& request);
  void write_summaries(int64_t step, const Scalars& scalars);
  [[noreturn]] void leave_interrupted();
  // After `batch` was step `step`'s, and its metrics are in.
  [[noreturn]] void leave_trapped(int64_t step, const Batch& batch);
  // A step may be skipped though it is finite: when its gradient norm stands out.
  static bool is_finite_step(const Scalars& metrics);
  [[noreturn]] void leave_non_finite(int64_t step, const Scalars& metrics);

  const Trainer& trainer_;
  const Trainer::Config& config_;
  RunOptions options_;
  std::string config_text_;
  RunLog log_;
  // From where there is something to save; before that, while plugins and compilers may take long, signals end the run.
  std::optional<StopSignal> stop_;
  Watchdog watchdog_;
  std::unique_ptr<AsyncSaver> saver_;
  std::optional<OpenedCheckpoint> checkpoint_;  // to go on from
  LearnerMatch match_;                          // what its learner has of this one's
  std::optional<OpenedCheckpoint> init_from_;   // of a new run: to take initial values from
  CompileCache cache_;
  std::unique_ptr<TrainSession> session_;
  std::vector<NamedEvaluator> evaluators_;
  std::vector<std::string> evaluated_names_;  // "eval/loss", …: what they may give
  std::vector<std::pair<std::string, std::unique_ptr<StepHook>>> hooks_;
  std::vector<std::unique_ptr<SummaryWriter>> summaries_;
  std::unique_ptr<StepProfile> profile_;

  int64_t step_ = 0;  // steps started
  std::optional<Pending> pending_;
  std::optional<int64_t> saved_step_;
  HookRequests requests_;
  std::map<std::string, std::string> hook_states_;  // of the checkpoint
  std::pair<int64_t, Scalars> evaluated_;           // the metrics of the last step that was evaluated
  double began_at_ = 0, save_began_at_ = 0;
  double peak_flops_ = 0, model_flops_ = 0;  // of all devices a second, and of a step; 0: unknown
  Window window_;
  TrainResult result_;
  // Of this process: time on steps alone, steps whose metrics are in, and their tokens or examples.
  Stopwatch steps_time_;
  // The part of it that waited for results of the devices.
  Stopwatch waiting_time_;
  // And the part that waited for batches.
  Stopwatch data_time_;
  int64_t steps_ = 0;
  double weight_ = 0;
};

}  // namespace tenon
