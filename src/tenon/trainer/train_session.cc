#include "tenon/trainer/train_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/regex.h"
#include "tenon/base/span.h"
#include "tenon/base/stacked_name.h"
#include "tenon/base/text.h"
#include "tenon/data/prefetch.h"
#include "tenon/trainer/machine_memory.h"

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

const TrainSession::Eval& TrainSession::prepare_eval(const BatchTypes& batch) {
  for (const Eval& eval : evals_) {
    if (eval.batch == batch) return eval;
  }
  StepSettings step = settings_.step;
  step.batch = batch;
  EvalProgram eval = make_eval_program(model_, step);
  Executable executable = compile(settings_.backend, step.mesh, std::move(eval.program), settings_.cache);
  require_machine_memory("an evaluation", executable.memory().total() + learner_bytes(), *settings_.backend,
                         "take smaller batches to evaluate on");
  return evals_.emplace_back(Eval{batch, std::move(executable), std::move(eval.metric_names)});
}

int64_t TrainSession::learner_bytes() const {
  const Mesh& mesh = settings_.step.mesh;
  int64_t bytes = 0;
  for (const StateArray& array : std::span(layout().arrays).subspan(layout().model.size())) {
    const TensorType stored = array.stored_type(mesh);
    bytes += byte_size(TensorType{stored.dtype, mesh.shard_dims(stored.dims, array.partition)});
  }
  return bytes;
}

void TrainSession::initialize() {
  const Executable init =
      compile(settings_.backend, settings_.step.mesh,
              make_init_program(model_, learner_, settings_.step.mesh, settings_.step.optimizer_axes), settings_.cache);
  state_ = init(std::vector<Array>{seed_});
}

void TrainSession::restore(const OpenedCheckpoint& checkpoint, const LearnerMatch& match) {
  const size_t num_model = layout().model.size();
  check_compatible(std::span(layout().arrays).first(num_model), checkpoint, kLearnerPrefix);
  if (match.is_exact()) {
    state_.assign(layout().arrays.size(), {});
  } else {
    initialize();
  }
  const auto read = [&](size_t i) {
    state_[i] = restore_array(layout().arrays[i], checkpoint, settings_.backend, settings_.step.mesh);
  };
  for (size_t i = 0; i < num_model; ++i) {
    const std::optional<size_t> mean = mean_of(i);
    if (mean && !match.goes_on[*mean - num_model]) {
      restore_with_mean(i, layout().arrays[i], checkpoint);
    } else {
      read(i);
    }
  }
  for (size_t i = 0; i < layout().learner.size(); ++i) {
    if (layout().learner[i].path == Learner::kSkipped && match.optimizer_anew) {
      state_[num_model + i] = on_devices(Literal::scalar(DType::f32, static_cast<double>(checkpoint.step())));
    } else if (match.goes_on[i]) {
      read(num_model + i);
    }
  }
}

void TrainSession::restore_with_mean(size_t i, StateArray array, const OpenedCheckpoint& checkpoint) {
  state_[i] = restore_array(array, checkpoint, settings_.backend, settings_.step.mesh);
  // Read again: the train step takes both arrays' memory, and may have them split otherwise.
  if (const std::optional<size_t> mean = mean_of(i)) {
    array.partition = layout().arrays[*mean].partition;
    array.dtype = layout().arrays[*mean].dtype;
    state_[*mean] = restore_array(array, checkpoint, settings_.backend, settings_.step.mesh);
  }
}

namespace {

// The arrays below module `into` (empty: all), by the names they have there; nothing where an array isn't below it.
std::vector<std::optional<StateArray>> arrays_below(const std::string& into, std::span<const StateArray> arrays) {
  std::vector<std::optional<StateArray>> out(arrays.begin(), arrays.end());
  if (into.empty()) return out;
  const std::string prefix = into + ".";
  bool found = false;
  for (std::optional<StateArray>& array : out) {
    if (array->name.starts_with(prefix)) {
      array->name.erase(0, prefix.size());
      found = true;
    } else {
      array.reset();
    }
  }
  if (found) return out;
  throw Error(ErrorCode::invalid_argument, "no module of that path has parameters")
      .at("init_from.into")
      .got(quote_text(into));
}

}  // namespace

std::vector<std::string> TrainSession::restore_some(const OpenedCheckpoint& checkpoint, const InitFrom& from) {
  check(!state_.empty(), "restore_some: behind initialize");
  const std::optional<Regex> regex =
      from.tensors.empty() ? std::nullopt : std::optional(Regex::compile(from.tensors).value());
  const auto selected = [&](std::string_view name) {
    return regex ? regex->matches(name) : !name.starts_with(kLearnerPrefix);
  };
  const std::vector<std::optional<StateArray>> arrays = arrays_below(from.into, layout().arrays);
  std::vector<StateArray> below;
  for (const std::optional<StateArray>& array : arrays) {
    if (array) below.push_back(*array);
  }
  const TreeDifference difference = compare_tree(below, checkpoint, selected);
  if (!difference.fits(from.match)) {
    throw Error(ErrorCode::incompatible,
                "the checkpoint doesn't have what is to be taken from it; " + to_string(difference))
        .at(checkpoint.path())
        .expected(fmt::format("{} the tensors that match {}", from.match == TreeCheck::exact ? "exactly" : "at least",
                              quote_text(from.tensors)))
        .hint("name fewer tensors, or set init_from.match = \"contains\" when it may have more");
  }
  std::vector<std::string> taken;
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!arrays[i]) continue;
    const StateArray& array = *arrays[i];
    const std::vector<std::string> names = layer_names(array.name, array.stack);
    const auto count = std::count_if(names.begin(), names.end(), selected);
    if (count == 0) continue;
    if (count < static_cast<int64_t>(names.size())) {
      throw Error(ErrorCode::unsupported, "some layers of a scanned stack without the others")
          .at(array.name)
          .got(fmt::format("{} of {} match", count, names.size()))
          .hint("unroll the stack (form = \"unroll\"), or take all of its layers");
    }
    if (i < layout().model.size()) {
      restore_with_mean(i, array, checkpoint);
    } else {
      state_[i] = restore_array(array, checkpoint, settings_.backend, settings_.step.mesh);
    }
    taken.insert(taken.end(), names.begin(), names.end());
  }
  if (taken.empty()) {
    throw Error(ErrorCode::invalid_argument, "no tensor of the run matches")
        .at("init_from.tensors")
        .got(quote_text(from.tensors));
  }
  return taken;
}

void TrainSession::add_batch(std::vector<Array>& args, const Batch& batch) const {
  for (const auto& [name, array] : batch) {
    const Span span("transfer", name);
    args.push_back(Array::from_literal(settings_.backend, settings_.step.mesh, batch_partition(), array));
  }
}

std::vector<Array> TrainSession::step_arguments(int64_t step, const Batch& batch) const {
  check(!state_.empty(), "a step: no state");
  check(types_of(batch) == this->batch(), "a step: the batch is of the types that its dataset's config says");
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

std::optional<size_t> TrainSession::mean_of(size_t i) const {
  const std::string name = std::string(Ema::kName) + "." + layout().model[i].path;
  for (size_t k = 0; k < layout().learner.size(); ++k) {
    if (layout().learner[k].path == name) return layout().model.size() + k;
  }
  return std::nullopt;
}

std::vector<Array> TrainSession::eval_state() const {
  const size_t num_arrays = layout().model.size();
  std::vector<Array> out(state_.begin(), state_.begin() + static_cast<int64_t>(num_arrays));
  if (!learner_.evaluates_ema()) return out;
  for (size_t i = 0; i < num_arrays; ++i) {
    const std::optional<size_t> mean = mean_of(i);
    if (!mean) continue;
    const Array& value = state_[*mean];
    const bool as_parameter = value.spec() == state_[i].spec();
    out[i] = as_parameter
                 ? value
                 : Array::from_literal(settings_.backend, settings_.step.mesh, state_[i].spec(), value.to_literal());
  }
  return out;
}

std::optional<EvalResult> TrainSession::evaluate(const Dataset& dataset, const std::function<bool()>& go_on,
                                                 std::optional<int64_t> num_batches) {
  check(!state_.empty(), "evaluate: no state");
  const std::vector<Array> model_state = eval_state();
  const Eval* eval = nullptr;
  std::vector<double> sums;
  int64_t num_labels = 0;
  Array pending;
  const auto read_pending = [&] {
    if (!pending) return;
    const Span span("wait for eval step");
    const Literal values = pending.to_literal();
    sums.resize(static_cast<size_t>(values.size()), 0);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += values.as_double(static_cast<int64_t>(i));
  };
  Prefetcher batches(dataset, 0);
  for (int64_t done = 0; !num_batches || done < *num_batches; ++done) {
    const std::optional<Batch> batch = batches.next();
    if (!batch) break;
    if (go_on && !go_on()) return std::nullopt;
    num_labels += count_labels(*batch);
    if (eval == nullptr) eval = &prepare_eval(types_of(*batch));
    std::vector<Array> args = model_state;
    add_batch(args, *batch);
    const Span span("execute eval step");
    Array next = eval->executable(args)[0];
    read_pending();
    pending = std::move(next);
  }
  read_pending();
  if (eval == nullptr || sums[1] == 0) {
    throw Error(ErrorCode::invalid_argument, "there is nothing to evaluate on: the batches have no labels")
        .at("data")
        .got(dataset.describe());
  }
  EvalResult result;
  // NaN where nothing was weighed.
  const auto mean = [&](size_t i) { return sums[i] / sums[i + 1]; };
  result.loss = mean(0);
  result.weight = sums[1];
  result.num_labels = static_cast<double>(num_labels);
  for (size_t i = 0; i < eval->metric_names.size(); ++i) result.metrics[eval->metric_names[i]] = mean(2 + 2 * i);
  return result;
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
