#include "tenon/trainer/step_hook.h"

#include <fmt/format.h>

#include <limits>

#include "tenon/base/text.h"
#include "tenon/config/define.h"
#include "tenon/trainer/metric_name.h"

namespace tenon {

TENON_INTERFACE(StepHook, Configurable, "sees every step of a run; may ask for an evaluation, a save or the end")
TENON_MODULE(EarlyStopping, StepHook, "ends a run whose evaluations no longer become better",
             {"metric", "of an evaluator, as eval/loss"}, {"patience", "evaluations without a better value"},
             {"min_delta", "what is better by less doesn't count"})
TENON_MODULE(SaveEverySeconds, StepHook, "saves by the clock")
TENON_MODULE(TimeLimit, StepHook, "ends a run, saved, by the clock")

void EarlyStopping::Config::check(Checker& c) const {
  c.require(!metric.empty(), "metric", "must name a metric");
  c.positive("patience", patience);
  c.at_least("min_delta", min_delta, 0);
}
void SaveEverySeconds::Config::check(Checker& c) const { c.positive("seconds", seconds); }
void TimeLimit::Config::check(Checker& c) const { c.positive("seconds", seconds); }

EarlyStopping::EarlyStopping(const Config& config)
    : config_(config),
      best_(config.higher_is_better ? -std::numeric_limits<double>::infinity()
                                    : std::numeric_limits<double>::infinity()) {}

void EarlyStopping::begin(const StepInfo& info, const std::string& state, HookRequests& requests) {
  try {
    require_metric(config_.metric, info.evaluated);
  } catch (Error& e) {
    e.at("metric");
    throw;
  }
  const std::vector<std::string> words = split(state, ' ');
  if (words.size() != 2) return;
  const Result<double> best = parse_double(words[0]);
  const Result<int64_t> worse = parse_int(words[1]);
  if (!best.ok() || !worse.ok()) return;
  best_ = *best;
  worse_in_a_row_ = *worse;
  stop_if_due(requests);
}

void EarlyStopping::after_evaluation(const StepInfo& info, HookRequests& requests) {
  const auto found = info.metrics.find(config_.metric);
  if (found == info.metrics.end()) {
    std::vector<std::string> names;
    const std::string prefix = config_.metric.substr(0, config_.metric.find('/') + 1);
    for (const auto& [name, value] : info.metrics) {
      if (name.starts_with(prefix)) names.push_back(name);
    }
    if (names.empty()) return;  // another evaluator's turn
    throw Error(ErrorCode::invalid_argument, "this evaluation couldn't measure " + quote_text(config_.metric))
        .at("metric")
        .got(join(names, ", "))
        .hint("name one of these");
  }
  const double value = found->second;
  const bool better = config_.higher_is_better ? value > best_ + config_.min_delta : value < best_ - config_.min_delta;
  worse_in_a_row_ = better ? 0 : worse_in_a_row_ + 1;
  if (better) best_ = value;
  stop_if_due(requests);
}

void EarlyStopping::stop_if_due(HookRequests& requests) const {
  if (worse_in_a_row_ < config_.patience) return;
  requests.stop = fmt::format("{} was best at {:.4f}, {} evaluations ago", config_.metric, best_, worse_in_a_row_);
}

std::string EarlyStopping::state() const { return fmt::format("{} {}", format_float(best_), worse_in_a_row_); }

void SaveEverySeconds::after_step(const StepInfo& info, HookRequests& requests) {
  if (info.seconds_since_save >= seconds_) requests.save = true;
}

void TimeLimit::after_step(const StepInfo& info, HookRequests& requests) {
  if (info.seconds >= seconds_) requests.stop = fmt::format("it has trained for {:.0f} s", info.seconds);
}

}  // namespace tenon
