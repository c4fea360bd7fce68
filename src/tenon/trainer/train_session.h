// A model in training on the devices of a mesh: its compiled programs and its state.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/checkpoint/checkpoint.h"
#include "tenon/data/dataset.h"
#include "tenon/runtime/executable.h"
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
  double loss = 0;        // nats by token
  double num_tokens = 0;  // labels that counted
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
  double flops() const { return program_.flops; }
  // Compiles what `evaluate` runs, so that it doesn't have to.
  const Executable& prepare_eval();

  // Starts from the seed, on the devices; or from a checkpoint of any mesh and loop form. Throws `incompatible` or
  // `damaged`.
  void initialize();
  void restore(const OpenedCheckpoint& checkpoint);

  // Runs step `step` (from 0) on a batch and returns its metrics, f32[metric_names], which may still be on the way.
  Array train_step(int64_t step, const Batch& batch);
  // Where step `step`, which has just run on this batch and was skipped, went non-finite: skipped steps leave what it
  // read as it was. Throws as trap_non_finite does.
  NonFiniteReport trap(int64_t step, const Batch& batch) const;
  // All batches of `dataset` in order, with the learner's running means of the parameters where its Ema says so; none
  // when `stop` becomes true.
  std::optional<EvalResult> evaluate(const Dataset& dataset, const std::atomic<bool>* stop = nullptr);
  // The state as files hold it. Waits for the last step.
  std::vector<std::pair<std::string, Literal>> export_state() const;

 private:
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
  std::optional<Executable> eval_;
  Array seed_;
  std::vector<Array> state_;
};

}  // namespace tenon
