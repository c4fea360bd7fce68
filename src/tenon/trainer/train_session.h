// A model in training on the devices of a mesh: its compiled programs and its state.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/checkpoint/checkpoint.h"
#include "tenon/data/dataset.h"
#include "tenon/runtime/executable.h"
#include "tenon/trainer/learner_match.h"
#include "tenon/trainer/run_config.h"
#include "tenon/trainer/train_step.h"
#include "tenon/trainer/trap.h"

namespace tenon {

// Where and how a session runs.
struct SessionSettings {
  std::shared_ptr<const Backend> backend;
  StepSettings step;
  int64_t seed = 0;
  // May be null: everything is compiled anew.
  const CompileCache* cache = nullptr;
};

// Means over a dataset.
struct EvalResult {
  double loss = 0;                        // nats
  double weight = 0;                      // tokens or examples that counted
  double num_labels = 0;                  // labels that the batches had
  std::map<std::string, double> metrics;  // what the model measures besides
};

// For one thread. Model and learner must outlive it.
class TrainSession {
 public:
  // Traces and compiles the train step. Throws as make_train_program and compile do.
  TrainSession(const Model& model, const Learner& learner, SessionSettings settings);

  const StateLayout& layout() const { return program_.layout; }
  const std::vector<std::string>& metric_names() const { return program_.metric_names; }
  const Executable& train_executable() const { return train_; }
  // Floating-point operations of one step, over all devices.
  double flops() const { return program_.flops.total; }
  // "num_tokens": what the weight of the loss is called.
  std::string weight_metric() const { return tenon::weight_metric(model_); }
  // Of a training batch.
  const BatchTypes& batch() const { return settings_.step.batch; }
  // What evaluates batches of some types.
  struct Eval {
    BatchTypes batch;
    Executable executable;
    std::vector<std::string> metric_names;  // EvalResult::metrics
  };
  // Compiles what `evaluate` runs for batches of these types, so that it doesn't have to. Throws `out_of_memory` when
  // it takes more than the machine has.
  const Eval& prepare_eval(const BatchTypes& batch);

  // Starts from the seed, on the devices.
  void initialize();
  // Goes on from a checkpoint of any mesh and loop form, with what `match` takes of the learner's arrays. The others
  // start anew: running means with these parameters, and an optimizer that keeps none counts its updates from here.
  // Throws `incompatible` when the model is another, or `damaged`.
  void restore(const OpenedCheckpoint& checkpoint, const LearnerMatch& match);
  // Behind `initialize`: the arrays whose names in files match `from.tensors` come from a checkpoint, the others stay
  // as they are. Returns the names taken. Throws `incompatible`, saying what differs, unless the matching tensors of
  // both pass `from.match`; `invalid_argument` when none matches; `unsupported` when some layers of a stack match and
  // others don't.
  std::vector<std::string> restore_some(const OpenedCheckpoint& checkpoint, const InitFrom& from);

  // Runs step `step` (from 0) on a batch and returns its metrics, f32[metric_names], which may still be on the way.
  Array train_step(int64_t step, const Batch& batch);
  // Where step `step`, which has just run on this batch and was skipped, went non-finite: skipped steps leave what it
  // read as it was. Throws as trap_non_finite does.
  NonFiniteReport trap(int64_t step, const Batch& batch) const;
  // The first `num_batches` batches of `dataset`, or all there are, with the learner's running means of the parameters
  // where its Ema says so. `go_on`, unless empty, is called before each; when
  // it says false, there is no result. Throws `invalid_argument` when the batches have no labels.
  std::optional<EvalResult> evaluate(const Dataset& dataset, const std::function<bool()>& go_on = {},
                                     std::optional<int64_t> num_batches = {});
  // The state as files hold it. Waits for the last step.
  std::vector<std::pair<std::string, Literal>> export_state() const;

 private:
  // What one device holds of the learner's arrays, which lie there during evaluations too.
  int64_t learner_bytes() const;
  // The model's array i from what is `array` in the checkpoint, and its running mean, where the learner keeps one.
  void restore_with_mean(size_t i, StateArray array, const OpenedCheckpoint& checkpoint);
  // Where in the state the running mean of the model's array i is; none: none is kept.
  std::optional<size_t> mean_of(size_t i) const;
  // The model's part of the state, as evaluations read it.
  std::vector<Array> eval_state() const;
  std::vector<Array> step_arguments(int64_t step, const Batch& batch) const;
  void add_batch(std::vector<Array>& args, const Batch& batch) const;
  Array on_devices(const Literal& literal) const;

  const Model& model_;
  const Learner& learner_;
  SessionSettings settings_;
  TrainProgram program_;
  Executable train_;
  std::list<Eval> evals_;
  Array seed_;
  std::vector<Array> state_;
};

}  // namespace tenon
