#include "tenon/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tenon/config/define.h"

namespace tenon {

TENON_FN_TYPE(CosineWithWarmup, double(int64_t), "up in a line, down in half a cosine", {"peak", "the highest rate"},
              {"warmup_steps", "steps that rise"}, {"total_steps", "the step count at which the rate is lowest"},
              {"final_ratio", "the lowest rate as a part of peak"})
TENON_FN_TYPE(ConstantWithWarmup, double(int64_t), "up in a line, then constant", {"peak", "the rate after the rise"},
              {"warmup_steps", "steps that rise"})

namespace {

double warmup(int64_t step, int64_t warmup_steps) {
  return step + 1 >= warmup_steps ? 1 : static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
}

}  // namespace

void CosineWithWarmup::check(Checker& c) const {
  c.at_least("peak", peak, 0);
  c.at_least("warmup_steps", warmup_steps, 0);
  c.positive("total_steps", total_steps);
  c.require(warmup_steps <= total_steps, "warmup_steps", "must be at most total_steps");
  c.require(final_ratio >= 0 && final_ratio <= 1, "final_ratio", "must be in [0, 1]");
}

double CosineWithWarmup::operator()(int64_t step) const {
  if (step + 1 <= warmup_steps) return peak * warmup(step, warmup_steps);
  const auto length = static_cast<double>(std::max<int64_t>(total_steps - warmup_steps, 1));
  const double progress = std::min(static_cast<double>(step + 1 - warmup_steps) / length, 1.0);
  const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return peak * (final_ratio + (1 - final_ratio) * cosine);
}

void ConstantWithWarmup::check(Checker& c) const {
  c.at_least("peak", peak, 0);
  c.at_least("warmup_steps", warmup_steps, 0);
}

double ConstantWithWarmup::operator()(int64_t step) const { return peak * warmup(step, warmup_steps); }

}  // namespace tenon
