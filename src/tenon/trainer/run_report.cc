// What a run says: log lines, summaries, evaluations, and how it ends when it doesn't reach its end.
#include <fmt/format.h>

#include <cmath>

#include "tenon/base/file.h"
#include "tenon/base/process_memory.h"
#include "tenon/base/span.h"
#include "tenon/base/text.h"
#include "tenon/trainer/run.h"

namespace tenon {

bool Run::is_finite_step(const Scalars& metrics) {
  return std::isfinite(metrics.at("loss")) && std::isfinite(metrics.at("grad_norm"));
}

Progress Run::progress(int64_t step) const {
  Progress p{.step = step, .max_steps = config_.max_steps, .loss = result_.train_loss};
  const double seconds = steps_time_.seconds();
  p.unit = trainer_.model().unit();
  p.rate = seconds > 0 ? weight_ / seconds : 0;
  p.eta_s = steps_ > 0 ? seconds / static_cast<double>(steps_) * static_cast<double>(config_.max_steps - step) : 0;
  return p;
}

void Run::log_window(int64_t step, const Scalars& metrics) {
  const auto steps = static_cast<double>(window_.steps);
  const double seconds = steps_time_.seconds() - window_.since;
  const double waited = waiting_time_.seconds() - window_.waited_since;
  const double data_s = data_time_.seconds() - window_.data_since;
  result_.train_loss = window_.loss / steps;
  Progress p = progress(step);
  p.loss = result_.train_loss;
  p.grad_norm = metrics.at("grad_norm");
  p.learning_rate = trainer_.learner().scalars(step - 1).at("learning_rate");
  p.rate = seconds > 0 ? window_.weight / seconds : 0;
  p.data_wait = seconds > 0 ? data_s / seconds : 0;
  p.resident_bytes = resident_bytes();
  if (peak_flops_ > 0 && seconds > 0) p.mfu = model_flops_ * steps / seconds / peak_flops_;
  window_ = Window{
      .since = steps_time_.seconds(), .waited_since = waiting_time_.seconds(), .data_since = data_time_.seconds()};

  log_.line(format_progress(p));
  Scalars out;
  for (const auto& [name, value] : metrics) out["train/" + name] = value;
  out["train/loss"] = p.loss;
  out["train/learning_rate"] = p.learning_rate;
  out[fmt::format("train/{}_per_s", p.unit)] = p.rate;
  out["train/host_ms"] = 1000 * (seconds - waited) / steps;
  out["train/data_wait_ms"] = 1000 * data_s / steps;
  if (p.resident_bytes) out["train/host_rss_bytes"] = static_cast<double>(*p.resident_bytes);
  if (p.mfu) out["train/mfu"] = *p.mfu;
  if (const auto peak = options_.backend->client().peak_memory()) {
    out["train/device_peak_bytes"] = static_cast<double>(*peak);
  }
  write_summaries(step, out);
}

Scalars Run::evaluate(NamedEvaluator& e) {
  const Span span("evaluate after step", step_);
  Watchdog::Watch watch(watchdog_, fmt::format("evaluation \"{}\" after step {}", e.name, step_));
  const auto go_on = [&] {
    watch.renew();
    return !stop_->requested();
  };
  std::optional<Scalars> values;
  try {
    values = e.evaluator->evaluate(*session_, go_on);
  } catch (Error& error) {
    error.prefix("evaluators." + e.name);
    throw;
  }
  if (!values) return {};
  e.done_step = step_;
  std::string line = fmt::format("{} at step {}:", e.name, step_);
  Scalars named;
  if (values->contains("loss")) line += fmt::format(" loss {:.4f} ", values->at("loss"));
  for (const auto& [name, value] : *values) {
    named[e.name + "/" + name] = value;
    if (name != "loss" && name != session_->weight_metric()) line += fmt::format(" {} {:.4f} ", name, value);
  }
  while (line.ends_with(' ')) line.pop_back();
  log_.line(line);
  if (e.name == "eval") result_.eval = *values;
  write_summaries(step_, named);
  if (evaluated_.first != step_) evaluated_ = {step_, {}};
  evaluated_.second.insert(named.begin(), named.end());
  return named;
}

void Run::write_summaries(int64_t step, const Scalars& scalars) {
  const Span span("write summaries");
  for (const auto& writer : summaries_) writer->write(step, scalars).value();
}

void Run::write_histograms(const SaveRequest& request) {
  const Span span("write histograms");
  for (const auto& [name, value] : request.tensors) {
    if (name.starts_with(kLearnerPrefix)) continue;
    const Histogram histogram = make_histogram(value.to_doubles());
    for (const auto& writer : summaries_) writer->write_histogram(step_, "parameters/" + name, histogram).value();
  }
}

void Run::leave_interrupted() {
  if (saved_step_ != step_) save();
  saver_->wait();
  throw Error(ErrorCode::interrupted,
              fmt::format("stopped by {} after step {}; everything is saved", stop_->name(), step_))
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
