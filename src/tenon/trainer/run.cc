#include "tenon/trainer/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "tenon/base/file.h"
#include "tenon/base/span.h"
#include "tenon/base/text.h"
#include "tenon/base/utf8.h"
#include "tenon/config/text.h"
#include "tenon/data/prefetch.h"
#include "tenon/text/saved_tokenizer.h"

namespace tenon {
namespace {

bool is_due(int64_t step, int64_t every) { return every > 0 && step % every == 0; }

// Where the watchdog writes: the log, when that is a file.
int log_descriptor(std::FILE* out) {
  const int fd = out == nullptr ? -1 : ::fileno(out);
  return fd >= 0 ? fd : STDERR_FILENO;
}

}  // namespace

Run::Run(const Trainer& trainer, const RunOptions& options)
    : trainer_(trainer),
      config_(trainer.config()),
      options_(options),
      config_text_(to_toml(config_)),
      log_(options.quiet ? nullptr : options.out),
      watchdog_(config_.watchdog, log_descriptor(options.out)) {}
Run::~Run() = default;

TrainResult Run::train() {
  name_thread("main");
  if (options_.dry_run) return dry_run();
  open_dir();
  find_checkpoint();
  open_init_from();
  const int64_t first_step = (checkpoint_ ? checkpoint_->step() : 0) + 1;
  profile_ = std::make_unique<StepProfile>(options_.profile, options_.dir, first_step, config_.max_steps);
  compile_programs();
  stop_.emplace();
  start();
  open_summaries();
  begin_hooks();
  loop();
  settle();
  return finish();
}

TrainResult Run::dry_run() {
  if (is_dir(options_.dir)) find_checkpoint();
  open_init_from();
  compile_programs();
  log_.line("dry run: nothing was trained or written");
  return result_;
}

TrainResult Run::finish() {
  if (stop_->requested()) leave_interrupted();
  try {
    evaluate(true);
  } catch (...) {
    // What was trained isn't lost to what measures it.
    if (saved_step_ != step_) save();
    saver_->wait();
    throw;
  }
  if (stop_->requested()) leave_interrupted();
  if (saved_step_ != step_) save();
  saver_->wait();
  result_.step = step_;
  result_.headline = trainer_.model().headline();
  result_.unit = trainer_.model().unit();
  result_.train_loss = train_loss();
  result_.rate = steps_time_.seconds() > 0 ? weight_ / steps_time_.seconds() : 0;
  RunLog(options_.out).line(format_final(result_));
  return result_;
}

void Run::loop() {
  if (step_ >= config_.max_steps) return;
  Prefetcher batches(trainer_.data(), step_);
  steps_time_.start();
  while (step_ < config_.max_steps && !stop_->requested() && requests_.stop.empty()) {
    begin_profile();
    std::optional<Batch> batch;
    {
      const Watchdog::Watch watch(watchdog_, fmt::format("step {}", step_ + 1));
      data_time_.start();
      batch = batches.next();
      data_time_.stop();
      if (!batch) {
        requests_.stop = "the training data ends";
        break;
      }
      step(*batch);
    }
    pause_if_due();
    if (profile_->ends_with(step_)) end_profile();
  }
  {
    const Watchdog::Watch watch(watchdog_, fmt::format("step {}", step_));
    settle();
  }
  steps_time_.stop();
  if (profile_->recording()) end_profile();
  if (!requests_.stop.empty()) log_.line(fmt::format("stopped at step {}: {}", step_, requests_.stop));
}

void Run::step(const Batch& batch) {
  const Span span("step", step_ + 1);
  Array metrics = session_->train_step(step_, batch);
  settle();  // of the step before, while this one runs
  saver_->check();
  pending_ = Pending{step_++, std::move(metrics)};
  if (options_.trap_non_finite && settle()) leave_trapped(step_, batch);
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
  const bool save_due = is_due(step_, config_.save_every_n_steps), eval_due = any_due();
  if (!save_due && !eval_due && !requests_.save && !requests_.evaluate) return;
  {
    const Watchdog::Watch watch(watchdog_, fmt::format("step {}", step_));
    settle();  // hooks that see this step may ask again, before they are given what they asked for
  }
  const bool asked = std::exchange(requests_.evaluate, false);
  const bool keep = std::exchange(requests_.save, false) || save_due;
  // What decides which checkpoint is best must be known of it.
  const bool all = asked || (keep && config_.keep.best_n > 0);
  steps_time_.stop();
  if (all || eval_due) evaluate(all);
  if (keep && !stop_->requested()) save();
  steps_time_.start();
}

bool Run::any_due() const {
  for (const NamedEvaluator& e : evaluators_) {
    if (is_due(step_, e.every_n_steps)) return true;
  }
  return false;
}

void Run::evaluate(bool all) {
  Scalars measured;
  for (NamedEvaluator& e : evaluators_) {
    if (e.done_step == step_ || (!all && !is_due(step_, e.every_n_steps))) continue;
    const Scalars values = evaluate(e);
    if (stop_->requested()) return;
    measured.insert(values.begin(), values.end());
  }
  if (measured.empty()) return;
  const auto ask = [&](StepHook& hook) { hook.after_evaluation(step_info(step_, measured), requests_); };
  for_each_hook(ask);
}

// Errors of hooks carry their place in the config.
void Run::for_each_hook(const std::function<void(StepHook&)>& call) {
  for (const auto& [name, hook] : hooks_) {
    try {
      call(*hook);
    } catch (Error& e) {
      e.prefix("hooks." + name);
      throw;
    }
  }
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
  const double weight = metrics.at(session_->weight_metric());
  window_.weight += weight;
  weight_ += weight;
  const bool skipped = metrics.at("skipped_in_a_row") > 0;
  if (skipped) {
    log_.line(fmt::format("warning: step {} was skipped: loss {}, gradient norm {}", count, metrics.at("loss"),
                          metrics.at("grad_norm")));
  }
  if (is_due(count, config_.log_every_n_steps) || count == config_.max_steps) log_window(count, metrics);
  log_.bar(progress(count));
  if (metrics.at("skipped_in_a_row") >= static_cast<double>(trainer_.learner().max_skipped_steps()) &&
      !(options_.trap_non_finite && !is_finite_step(metrics))) {
    leave_non_finite(count, metrics);
  }
  tell_hooks(count, metrics);
  return skipped && !is_finite_step(metrics);
}

void Run::tell_hooks(int64_t step, const Scalars& metrics) {
  if (hooks_.empty()) return;
  Scalars named;
  for (const auto& [name, value] : metrics) named["train/" + name] = value;
  for_each_hook([&](StepHook& hook) { hook.after_step(step_info(step, named), requests_); });
}

StepInfo Run::step_info(int64_t step, const Scalars& metrics) const {
  const double now = steady_seconds();
  return {step, config_.max_steps, now - began_at_, now - save_began_at_, metrics, evaluated_names_};
}

void Run::save() {
  const Span span("start to save step", step_);
  const Watchdog::Watch watch(watchdog_, fmt::format("copying step {} to the host", step_));
  save_began_at_ = steady_seconds();
  saver_->wait();  // so that the host holds one copy of the state at most
  SaveRequest request = save_request();
  if (config_.summarize.histograms) write_histograms(request);
  saver_->save(std::move(request));
  saved_step_ = step_;
}

SaveRequest Run::save_request() {
  SaveRequest request;
  request.step = step_;
  request.tensors = session_->export_state();
  if (const auto tokenizer = trainer_.data().tokenizer()) request.files = tokenizer_files(*tokenizer);
  request.files["config.toml"] = config_text_;
  request.metadata = {{"train_loss", format_float(train_loss())}};
  if (step_ > 0) put_metric(request.metadata, "train/loss", train_loss());
  if (evaluated_.first == step_) {
    for (const auto& [name, value] : evaluated_.second) put_metric(request.metadata, name, value);
  }
  if (config_.keep.best_n > 0 && !stop_->requested() && !get_metric(request.metadata, config_.keep.best_metric)) {
    log_.line(fmt::format("warning: the checkpoint of step {} can't be the best (keep.best_metric): it has no {}",
                          step_, quote_text(config_.keep.best_metric)));
  }
  for (const auto& [name, hook] : hooks_) {
    std::string state = hook->state();
    if (state.empty()) continue;
    if (!is_utf8(state)) {
      throw Error(ErrorCode::invalid_argument, "the state of a hook must be UTF-8").at("hooks." + name);
    }
    request.metadata["hook." + name] = std::move(state);
  }
  return request;
}

}  // namespace tenon
