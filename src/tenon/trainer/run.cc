#include "tenon/trainer/run.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "tenon/base/file.h"
#include "tenon/base/span.h"
#include "tenon/base/text.h"
#include "tenon/config/text.h"
#include "tenon/data/prefetch.h"
#include "tenon/text/saved_tokenizer.h"
#include "tenon/trainer/summary_jsonl.h"
#include "tenon/trainer/summary_tensorboard.h"
#include "tenon/trainer/trace_step.h"

namespace tenon {
namespace {

bool is_due(int64_t step, int64_t every) { return every > 0 && step % every == 0; }

// A step may be skipped though it is finite: when its gradient norm stands out.
bool is_finite_step(const Scalars& metrics) {
  return std::isfinite(metrics.at("loss")) && std::isfinite(metrics.at("grad_norm"));
}

// What the labels' text costs, by its bytes; none where these aren't known.
std::optional<double> bits_per_byte(const EvalResult& eval, const Dataset& held_out) {
  const std::optional<int64_t> bytes = held_out.num_text_bytes();
  if (!bytes || *bytes == 0) return std::nullopt;
  return eval.loss * eval.num_tokens / static_cast<double>(*bytes) / std::numbers::ln2;
}

}  // namespace

Run::Run(const Trainer& trainer, const RunOptions& options)
    : trainer_(trainer),
      config_(trainer.config()),
      options_(options),
      config_text_(to_toml(config_)),
      log_(options.quiet ? nullptr : options.out),
      held_out_(trainer.data().held_out()) {}
Run::~Run() = default;

TrainResult Run::train() {
  name_thread("main");
  open_dir();
  find_checkpoint();
  const int64_t first_step = (checkpoint_ ? checkpoint_->step() : 0) + 1;
  profile_ = std::make_unique<StepProfile>(options_.profile, options_.dir, first_step, config_.max_steps);
  compile_programs();
  start();
  open_summaries();
  loop();
  settle();
  if (stop_.requested()) leave_interrupted();
  if (evaluated_step_ != step_) evaluate();
  if (stop_.requested()) leave_interrupted();
  if (saved_step_ != step_) save();
  saver_->wait();
  result_.step = step_;
  result_.tokens_per_s = steps_time_.seconds() > 0 ? tokens_ / steps_time_.seconds() : 0;
  RunLog(options_.out).line(format_final(result_));
  return result_;
}

void Run::open_dir() {
  if (options_.dir.empty()) throw Error(ErrorCode::invalid_argument, "a run needs a directory").at("dir");
  if (options_.resume == Resume::must && !is_dir(options_.dir)) {
    throw Error(ErrorCode::not_found, "there is nothing to resume").at(options_.dir);
  }
  saver_ = std::make_unique<AsyncSaver>(options_.dir, SaveOptions{.keep_last = config_.keep_last_n});
}

void Run::compile_programs() {
  if (options_.backend == nullptr) options_.backend = Backend::open(options_.platform);
  const StepSettings step = step_settings(config_, options_.backend->num_devices(), options_.backend->kernels());
  const Mesh& mesh = step.mesh;
  log_.line(fmt::format("{} x {} ({}), mesh {}", mesh.num_devices(), options_.backend->platform(),
                        options_.backend->device_kind(), to_string(mesh)));
  log_.line(trainer_.data().describe());
  log_.line(format_parameters(describe_state(trainer_.model())));
  SessionSettings settings{options_.backend, step, config_.seed, options_.compile_cache ? &cache_ : nullptr};
  session_ = std::make_unique<TrainSession>(trainer_.model(), trainer_.learner(), std::move(settings));
  log_.line(format_compiled("train step", session_->train_executable()));
  log_.line(fmt::format("train step: {:.3f} GFLOPs", session_->flops() / 1e9));
  for (const KernelChoice& choice : session_->train_executable().program().kernels) log_.line(to_string(choice));
  if (options_.backend->platform() == "cpu" && uses_host_memory(session_->train_executable().program())) {
    log_.line("note: the CPU has one memory: what remat policies keep on the host stays where it is");
  }
  if (held_out_ != nullptr) log_.line(format_compiled("eval step", session_->prepare_eval()));
}

// Before anything is compiled, so that what can't go on says so at once.
void Run::find_checkpoint() {
  const std::vector<int64_t> steps = list_steps(options_.dir).value();
  if (steps.empty()) {
    if (options_.resume == Resume::must) {
      throw Error(ErrorCode::not_found, "there is no checkpoint to resume from").at(options_.dir);
    }
    return;
  }
  if (options_.resume == Resume::never) {
    throw Error(ErrorCode::invalid_argument, "the directory already has checkpoints, and resume is 'never'")
        .at(join_path(options_.dir, step_dir_name(steps.back())))
        .hint("choose another directory, or resume");
  }
  checkpoint_ = open_latest(options_.dir).value();
  for (const std::string& warning : checkpoint_->warnings()) log_.line("warning: " + warning);
  check_compatible(layout_state(trainer_.model(), trainer_.learner()).arrays, *checkpoint_);
  log_.line(fmt::format("resuming from {} (step {})", checkpoint_->path(), checkpoint_->step()));
  report_config_changes(*checkpoint_);
}

void Run::start() {
  if (checkpoint_) {
    session_->restore(*checkpoint_);
    step_ = checkpoint_->step();
    saved_step_ = step_;
    const auto loss = checkpoint_->metadata().find("train_loss");
    if (loss != checkpoint_->metadata().end()) result_.train_loss = parse_double(loss->second).value();
    checkpoint_.reset();
  } else {
    session_->initialize();
  }
  write_file_atomic(join_path(options_.dir, "config.toml"), config_text_).value();
}

void Run::report_config_changes(const OpenedCheckpoint& checkpoint) {
  try {
    const std::string text = checkpoint.file("config.toml").value();
    if (text == config_text_) return;
    for (const Difference& d : diff(*from_toml(text, checkpoint.path() + "/config.toml"), config_)) {
      log_.line("config changed: " + to_string(d));
    }
  } catch (const Error& e) {
    log_.line(fmt::format("warning: the checkpoint's config can't be compared: {}", e.what()));
  }
}

void Run::open_summaries() {
  const int64_t first = step_ + 1;
  summaries_.push_back(
      std::make_unique<JsonlWriter>(JsonlWriter::open(join_path(options_.dir, "metrics.jsonl"), first).value()));
  summaries_.push_back(std::make_unique<TensorBoardWriter>(
      TensorBoardWriter::open(join_path(options_.dir, "tensorboard"), first).value()));
}

void Run::loop() {
  if (step_ >= config_.max_steps) return;
  Prefetcher batches(trainer_.data(), step_);
  steps_time_.start();
  while (step_ < config_.max_steps && !stop_.requested()) {
    begin_profile();
    const std::optional<Batch> batch = batches.next();
    if (!batch) break;
    step(*batch);
    if (profile_->ends_with(step_)) end_profile();
  }
  settle();
  steps_time_.stop();
  if (profile_->recording()) end_profile();
}

void Run::step(const Batch& batch) {
  const Span span("step", step_ + 1);
  Array metrics = session_->train_step(step_, batch);
  settle();  // of the step before, while this one runs
  saver_->check();
  pending_ = Pending{step_++, std::move(metrics)};
  if (options_.trap_non_finite && settle()) leave_trapped(step_, batch);
  pause_if_due();
}

void Run::begin_profile() {
  if (!profile_->begins_with(step_ + 1)) return;
  for (const std::string& line : profile_->begin(*options_.backend)) log_.line(line);
}

// What was begun is waited for, so that the recording has it whole.
void Run::end_profile() {
  settle();
  const bool counting = steps_time_.running();
  if (counting) steps_time_.stop();
  saver_->wait();
  for (const std::string& line : profile_->end(step_)) log_.line(line);
  if (counting) steps_time_.start();
}

// Evaluating and saving aren't counted as time of the steps.
void Run::pause_if_due() {
  const bool eval = is_due(step_, config_.eval_every_n_steps), keep = is_due(step_, config_.save_every_n_steps);
  if (!eval && !keep) return;
  settle();
  steps_time_.stop();
  if (eval) evaluate();
  if (keep && !stop_.requested()) save();
  steps_time_.start();
}

Literal Run::read_metrics(const Pending& done) {
  const Span span("wait for step", done.step + 1);
  waiting_time_.start();
  Literal values = done.metrics.to_literal();
  waiting_time_.stop();
  return values;
}

bool Run::settle() {
  if (!pending_) return false;
  const Pending done = *std::exchange(pending_, std::nullopt);
  const Literal values = read_metrics(done);
  Scalars metrics;
  for (size_t i = 0; i < session_->metric_names().size(); ++i) {
    metrics[session_->metric_names()[i]] = values.as_double(static_cast<int64_t>(i));
  }
  const int64_t count = done.step + 1;
  ++steps_;
  ++window_.steps;
  window_.loss += metrics.at("loss");
  window_.tokens += metrics.at("num_tokens");
  tokens_ += metrics.at("num_tokens");
  const bool skipped = metrics.at("skipped_in_a_row") > 0;
  if (skipped) {
    log_.line(fmt::format("warning: step {} was skipped: loss {}, gradient norm {}", count, metrics.at("loss"),
                          metrics.at("grad_norm")));
  }
  if (is_due(count, config_.log_every_n_steps) || count == config_.max_steps) log_window(count, metrics);
  log_.bar(progress(count));
  if (metrics.at("skipped_in_a_row") >= static_cast<double>(trainer_.learner().max_skipped_steps()) &&
      !options_.trap_non_finite) {
    leave_non_finite(count, metrics);
  }
  return skipped && !is_finite_step(metrics);
}

Progress Run::progress(int64_t step) const {
  Progress p{.step = step, .max_steps = config_.max_steps, .loss = result_.train_loss};
  const double seconds = steps_time_.seconds();
  p.tokens_per_s = seconds > 0 ? tokens_ / seconds : 0;
  p.eta_s = steps_ > 0 ? seconds / static_cast<double>(steps_) * static_cast<double>(config_.max_steps - step) : 0;
  return p;
}

void Run::log_window(int64_t step, const Scalars& metrics) {
  const double seconds = steps_time_.seconds() - window_.since;
  result_.train_loss = window_.loss / static_cast<double>(window_.steps);
  Progress p = progress(step);
  p.loss = result_.train_loss;
  p.grad_norm = metrics.at("grad_norm");
  p.learning_rate = trainer_.learner().scalars(step - 1).at("learning_rate");
  p.tokens_per_s = seconds > 0 ? window_.tokens / seconds : 0;
  const double host_seconds = seconds - (waiting_time_.seconds() - window_.waited_since);
  const double host_ms = 1000 * host_seconds / static_cast<double>(window_.steps);
  window_ = Window{.since = steps_time_.seconds(), .waited_since = waiting_time_.seconds()};

  log_.line(format_progress(p));
  Scalars out;
  for (const auto& [name, value] : metrics) out["train/" + name] = value;
  out["train/loss"] = p.loss;
  out["train/learning_rate"] = p.learning_rate;
  out["train/tokens_per_s"] = p.tokens_per_s;
  out["train/host_ms"] = host_ms;
  write_summaries(step, out);
}

void Run::evaluate() {
  if (held_out_ == nullptr) return;
  const Span span("evaluate after step", step_);
  const std::optional<EvalResult> eval = session_->evaluate(*held_out_, &stop_.flag());
  if (!eval) return;
  evaluated_step_ = step_;
  result_.eval_loss = eval->loss;
  result_.bits_per_byte = bits_per_byte(*eval, *held_out_);
  Scalars out{{"eval/loss", eval->loss}};
  if (result_.bits_per_byte) out["eval/bits_per_byte"] = *result_.bits_per_byte;
  log_.line(fmt::format("eval at step {}: loss {:.4f}{}", step_, eval->loss,
                        result_.bits_per_byte ? fmt::format("  bits_per_byte {:.4f}", *result_.bits_per_byte) : ""));
  write_summaries(step_, out);
}

void Run::save() {
  const Span span("start to save step", step_);
  SaveRequest request;
  request.step = step_;
  request.tensors = session_->export_state();
  if (const auto tokenizer = trainer_.data().tokenizer()) request.files = tokenizer_files(*tokenizer);
  request.files["config.toml"] = config_text_;
  request.metadata = {{"train_loss", format_float(result_.train_loss)}};
  saver_->save(std::move(request));
  saved_step_ = step_;
}

void Run::write_summaries(int64_t step, const Scalars& scalars) {
  const Span span("write summaries");
  for (const auto& writer : summaries_) writer->write(step, scalars).value();
}

void Run::leave_interrupted() {
  if (saved_step_ != step_) save();
  saver_->wait();
  throw Error(ErrorCode::interrupted,
              fmt::format("stopped by {} after step {}; everything is saved", stop_.name(), step_))
      .at(join_path(options_.dir, step_dir_name(step_)))
      .hint("run it again to go on");
}

void Run::leave_trapped(int64_t step, const Batch& batch) {
  saver_->wait();
  log_.line(fmt::format("trap: step {} runs again with its values looked at", step));
  const NonFiniteReport report = session_->trap(step - 1, batch);
  log_.line(format_report(report));
  throw Error(ErrorCode::non_finite, fmt::format("step {}: {} isn't finite, from {} on", step, report.target,
                                                 report.op.empty() ? "a parameter" : "the op " + report.op))
      .at(report.path)
      .got(to_string(report.value))
      .hint("lines that begin with \"trap:\" above have the ranges; the last checkpoint is untouched");
}

void Run::leave_non_finite(int64_t step, const Scalars& metrics) {
  saver_->wait();
  throw Error(ErrorCode::non_finite,
              fmt::format("{} steps in a row had a loss or a gradient that {}", trainer_.learner().max_skipped_steps(),
                          is_finite_step(metrics) ? "stands out (learner.skip_spikes)" : "isn't finite"))
      .at(fmt::format("step {}", step))
      .got(fmt::format("loss {}, gradient norm {}", metrics.at("loss"), metrics.at("grad_norm")))
      .hint("lower the learning rate, or look at the data of these steps; the last checkpoint is untouched");
}

}  // namespace tenon
