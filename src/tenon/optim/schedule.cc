#include "tenon/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"

namespace tenon {

namespace {

constexpr FieldDoc kPeak{"peak", "the highest rate"};
constexpr FieldDoc kWarmup{"warmup_steps", "steps that rise"};
constexpr FieldDoc kTotal{"total_steps", "the step count at which the rate is lowest"};
constexpr FieldDoc kFinal{"final_ratio", "the lowest rate as a part of peak"};

}  // namespace

TENON_FN_TYPE(CosineWithWarmup, double(int64_t), "up in a line, down in half a cosine", kPeak, kWarmup, kTotal, kFinal)
TENON_FN_TYPE(LinearWithWarmup, double(int64_t), "up in a line, down in a line", kPeak, kWarmup, kTotal, kFinal)
TENON_FN_TYPE(ConstantWithWarmup, double(int64_t), "up in a line, then constant", {"peak", "the rate after the rise"},
              kWarmup)
TENON_FN_TYPE(WarmupStableDecay, double(int64_t), "up in a line, constant, and down at the end", kPeak, kWarmup,
              {"decay_steps", "steps that fall"}, kTotal, kFinal, {"decay", "what it falls along"})
TENON_FN_TYPE(InverseSqrtWithWarmup, double(int64_t), "up in a line, then as 1 / sqrt(steps)", kPeak, kWarmup)
TENON_FN_TYPE(Stepwise, double(int64_t), "up in a line, then constant between boundaries", kPeak, kWarmup,
              {"boundaries", "steps from which the rate is another, ascending"},
              {"ratios", "the rates from there on as parts of peak"})

namespace {

void check_rise(Checker& c, double peak, int64_t warmup_steps) {
  c.at_least("peak", peak, 0);
  c.require(std::isfinite(peak), "peak", "must be finite");
  c.at_least("warmup_steps", warmup_steps, 0);
}

void check_fall(Checker& c, int64_t total_steps, double final_ratio) {
  c.positive("total_steps", total_steps);
  check_interval(c, "final_ratio", final_ratio, '[', 0, 1, ']');
}

void check_rise_and_fall(Checker& c, double peak, int64_t warmup_steps, int64_t total_steps, double final_ratio) {
  check_rise(c, peak, warmup_steps);
  check_fall(c, total_steps, final_ratio);
  c.require(warmup_steps <= total_steps, "warmup_steps", "must be at most total_steps");
}

double rise(int64_t step, int64_t warmup_steps) {
  return step + 1 >= warmup_steps ? 1 : static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
}

// 1 before step `start`, then down to `final_ratio` `length` steps later.
double fall(int64_t step, int64_t start, int64_t length, double final_ratio, DecayShape shape) {
  const double steps = static_cast<double>(step + 1 - start);
  const double progress = std::clamp(steps / static_cast<double>(std::max<int64_t>(length, 1)), 0.0, 1.0);
  double left = 1 - progress;
  if (shape == DecayShape::cosine) left = 0.5 * (1 + std::cos(std::numbers::pi * progress));
  if (shape == DecayShape::sqrt) left = 1 - std::sqrt(progress);
  return final_ratio + (1 - final_ratio) * left;
}

double rise_and_fall(int64_t step, int64_t warmup_steps, int64_t total_steps, double final_ratio, DecayShape shape) {
  if (step + 1 <= warmup_steps) return rise(step, warmup_steps);
  return fall(step, warmup_steps, total_steps - warmup_steps, final_ratio, shape);
}

}  // namespace

void CosineWithWarmup::check(Checker& c) const { check_rise_and_fall(c, peak, warmup_steps, total_steps, final_ratio); }

double CosineWithWarmup::operator()(int64_t step) const {
  return peak * rise_and_fall(step, warmup_steps, total_steps, final_ratio, DecayShape::cosine);
}

void LinearWithWarmup::check(Checker& c) const { check_rise_and_fall(c, peak, warmup_steps, total_steps, final_ratio); }

double LinearWithWarmup::operator()(int64_t step) const {
  return peak * rise_and_fall(step, warmup_steps, total_steps, final_ratio, DecayShape::linear);
}

void ConstantWithWarmup::check(Checker& c) const { check_rise(c, peak, warmup_steps); }

double ConstantWithWarmup::operator()(int64_t step) const { return peak * rise(step, warmup_steps); }

void WarmupStableDecay::check(Checker& c) const {
  check_rise(c, peak, warmup_steps);
  check_fall(c, total_steps, final_ratio);
  c.positive("decay_steps", decay_steps);
  c.require(warmup_steps <= total_steps && decay_steps <= total_steps - warmup_steps, "decay_steps",
            "must be at most total_steps - warmup_steps");
}

double WarmupStableDecay::operator()(int64_t step) const {
  if (step + 1 <= warmup_steps) return peak * rise(step, warmup_steps);
  return peak * fall(step, total_steps - decay_steps, decay_steps, final_ratio, decay);
}

void InverseSqrtWithWarmup::check(Checker& c) const {
  check_rise(c, peak, warmup_steps);
  c.positive("warmup_steps", warmup_steps);
}

double InverseSqrtWithWarmup::operator()(int64_t step) const {
  if (step + 1 <= warmup_steps) return peak * rise(step, warmup_steps);
  return peak * std::sqrt(static_cast<double>(warmup_steps) / static_cast<double>(step + 1));
}

void Stepwise::check(Checker& c) const {
  check_rise(c, peak, warmup_steps);
  c.require(boundaries.size() == ratios.size(), "ratios", "must be as many as boundaries");
  for (size_t i = 0; i < boundaries.size(); ++i) {
    c.require(boundaries[i] >= (i == 0 ? warmup_steps : boundaries[i - 1] + 1), "boundaries",
              "must ascend, from warmup_steps on");
  }
  for (const double ratio : ratios) c.require(ratio >= 0 && std::isfinite(ratio), "ratios", "must be at least 0");
}

double Stepwise::operator()(int64_t step) const {
  const auto passed = std::upper_bound(boundaries.begin(), boundaries.end(), step) - boundaries.begin();
  return peak * rise(step, warmup_steps) * (passed == 0 ? 1 : ratios[static_cast<size_t>(passed) - 1]);
}

}  // namespace tenon
