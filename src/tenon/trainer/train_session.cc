#include "tenon/trainer/train_session.h"

#include "tenon/base/span.h"
#include "tenon/data/prefetch.h"

namespace tenon {

TrainSession::TrainSession(const Model& model, const Learner& learner, SessionSettings settings)
    : model_(model),
      learner_(learner),
      settings_(std::move(settings)),
      program_(make_train_program(model, learner, settings_.step)),
      train_(compile(settings_.backend, settings_.step.mesh, program_.program, settings_.cache)),
      seed_(on_devices(seed_words(settings_.seed))) {}

Array TrainSession::on_devices(const Literal& literal) const {
  return Array::from_literal(settings_.backend, settings_.step.mesh, {}, literal);
}

const Executable& TrainSession::prepare_eval() {
  if (!eval_) {
    Program program = make_eval_program(model_, settings_.step);
    eval_ = compile(settings_.backend, settings_.step.mesh, std::move(program), settings_.cache);
  }
  return *eval_;
}

void TrainSession::initialize() {
  const Executable init = compile(settings_.backend, settings_.step.mesh,
                                  make_init_program(model_, learner_, settings_.step.mesh), settings_.cache);
  state_ = init(std::vector<Array>{seed_});
}

void TrainSession::restore(const OpenedCheckpoint& checkpoint) {
  check_compatible(layout().arrays, checkpoint);
  std::vector<Array> state;
  for (const StateArray& array : layout().arrays) {
    state.push_back(restore_array(array, checkpoint, settings_.backend, settings_.step.mesh));
  }
  state_ = std::move(state);
}

void TrainSession::add_batch(std::vector<Array>& args, const Batch& batch) const {
  auto name = settings_.step.batch.begin();
  for (const Literal* literal : batch_arrays(batch)) {
    const Span span("transfer", (name++)->first);
    args.push_back(Array::from_literal(settings_.backend, settings_.step.mesh, batch_partition(), *literal));
  }
}

std::vector<Array> TrainSession::step_arguments(int64_t step, const Batch& batch) const {
  check(!state_.empty(), "a step: no state");
  std::vector<double> scalars;
  for (const auto& [name, value] : learner_.scalars(step)) scalars.push_back(value);
  std::vector<Array> args = state_;
  args.push_back(seed_);
  args.push_back(on_devices(Literal::scalar_int(DType::i32, step)));
  args.push_back(on_devices(Literal::from(DType::f32, {static_cast<int64_t>(scalars.size())}, scalars)));
  add_batch(args, batch);
  return args;
}

Array TrainSession::train_step(int64_t step, const Batch& batch) {
  const std::vector<Array> args = step_arguments(step, batch);
  const Span span("execute train step");
  std::vector<Array> results = train_(args);
  Array metrics = std::move(results.back());
  results.pop_back();
  state_ = std::move(results);
  return metrics;
}

NonFiniteReport TrainSession::trap(int64_t step, const Batch& batch) const {
  return trap_non_finite(model_, learner_, settings_.step, settings_.backend, step_arguments(step, batch),
                         settings_.cache);
}

std::vector<Array> TrainSession::eval_state() const {
  const size_t num_arrays = layout().model.size();
  std::vector<Array> out(state_.begin(), state_.begin() + static_cast<int64_t>(num_arrays));
  if (!learner_.evaluates_ema()) return out;
  std::map<std::string, size_t> means;
  for (size_t i = 0; i < layout().learner.size(); ++i) means.emplace(layout().learner[i].path, num_arrays + i);
  for (size_t i = 0; i < num_arrays; ++i) {
    const auto mean = means.find(std::string(Ema::kName) + "." + layout().model[i].path);
    if (mean != means.end()) out[i] = state_[mean->second];
  }
  return out;
}

std::optional<EvalResult> TrainSession::evaluate(const Dataset& dataset, const std::atomic<bool>* stop) {
  check(!state_.empty(), "evaluate: no state");
  const Executable& eval = prepare_eval();
  const std::vector<Array> model_state = eval_state();
  const auto execute = [](const Executable& program, const std::vector<Array>& args) {
    const Span span("execute eval step");
    return program(args)[0];
  };
  double sum = 0, weight = 0;
  Array pending;
  const auto read_pending = [&] {
    if (!pending) return;
    const Span span("wait for eval step");
    const Literal both = pending.to_literal();
    sum += both.as_double(0);
    weight += both.as_double(1);
  };
  Prefetcher batches(dataset, 0);
  while (const std::optional<Batch> batch = batches.next()) {
    if (stop != nullptr && stop->load()) return std::nullopt;
    std::vector<Array> args = model_state;
    add_batch(args, *batch);
    Array next = execute(eval, args);
    read_pending();
    pending = std::move(next);
  }
  read_pending();
  return EvalResult{weight > 0 ? sum / weight : 0, weight};
}

std::vector<std::pair<std::string, Literal>> TrainSession::export_state() const {
  std::vector<std::pair<std::string, Literal>> out;
  for (size_t i = 0; i < state_.size(); ++i) {
    const Span span("copy to host", layout().arrays[i].name);
    auto tensors = to_file_tensors(layout().arrays[i], state_[i].to_literal());
    std::move(tensors.begin(), tensors.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace tenon
