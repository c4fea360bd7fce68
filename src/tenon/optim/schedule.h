// Learning rates as functions of the step, computed on the host. A constant needs no schedule: `learning_rate = 3e-4`.
//
// All rise in a line over the first `warmup_steps` steps, the last of which has `peak`. Steps count from 0: step s has
// the rate that optax's schedules, which start from 0, give for count s + 1.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/config/config.h"

namespace tenon {

using Schedule = Fn<double(int64_t)>;

// What a rate falls along from its peak: a line, half a cosine, or 1 - sqrt (Hägele et al. 2024).
enum class DecayShape : uint8_t { linear, cosine, sqrt };
TENON_ENUM(DecayShape, linear, cosine, sqrt)

// After the rise half a cosine down to peak * final_ratio at step total_steps - 1, and that from there on (Loshchilov &
// Hutter 2017).
struct CosineWithWarmup {
  double peak = 3e-4;
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;
  double final_ratio = 0.1;
  void check(Checker& c) const;
  TENON_FN(peak, warmup_steps, total_steps, final_ratio)
  double operator()(int64_t step) const;
};

// After the rise a line down to peak * final_ratio at step total_steps - 1, and that from there on.
struct LinearWithWarmup {
  double peak = 3e-4;
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;
  double final_ratio = 0;
  void check(Checker& c) const;
  TENON_FN(peak, warmup_steps, total_steps, final_ratio)
  double operator()(int64_t step) const;
};

// After the rise `peak`.
struct ConstantWithWarmup {
  double peak = 3e-4;
  int64_t warmup_steps = 0;
  void check(Checker& c) const;
  TENON_FN(peak, warmup_steps)
  double operator()(int64_t step) const;
};

// After the rise `peak` until decay_steps before total_steps, then down to peak * final_ratio at step total_steps - 1
// (Hu et al. 2024, "MiniCPM").
struct WarmupStableDecay {
  double peak = 3e-4;
  int64_t warmup_steps = 0;
  int64_t decay_steps = 0;
  int64_t total_steps = 0;
  double final_ratio = 0;
  DecayShape decay = DecayShape::linear;
  void check(Checker& c) const;
  TENON_FN(peak, warmup_steps, decay_steps, total_steps, final_ratio, decay)
  double operator()(int64_t step) const;
};

// After the rise peak * sqrt(warmup_steps / (step + 1)) (Vaswani et al. 2017, section 5.3).
struct InverseSqrtWithWarmup {
  double peak = 3e-4;
  int64_t warmup_steps = 1000;
  void check(Checker& c) const;
  TENON_FN(peak, warmup_steps)
  double operator()(int64_t step) const;
};

// After the rise `peak`, from step boundaries[i] on peak * ratios[i].
struct Stepwise {
  double peak = 3e-4;
  int64_t warmup_steps = 0;
  std::vector<int64_t> boundaries = {};
  std::vector<double> ratios = {};
  void check(Checker& c) const;
  TENON_FN(peak, warmup_steps, boundaries, ratios)
  double operator()(int64_t step) const;
};

}  // namespace tenon
