// Learning rates as functions of the step, computed on the host. A constant needs no schedule: `learning_rate = 3e-4`.
#pragma once

#include <cstdint>

#include "tenon/config/config.h"

namespace tenon {

// Steps count from 0.
using Schedule = Fn<double(int64_t)>;

// Rises in a line over the first `warmup_steps` steps, the last of which has `peak`; then half a cosine down to
// peak * final_ratio at step total_steps - 1, and that from there on (Loshchilov & Hutter 2017).
struct CosineWithWarmup {
  double peak = 3e-4;
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;
  double final_ratio = 0.1;
  void check(Checker& c) const;
  TENON_FN(peak, warmup_steps, total_steps, final_ratio)
  double operator()(int64_t step) const;
};

// Rises in a line over the first `warmup_steps` steps, then `peak`.
struct ConstantWithWarmup {
  double peak = 3e-4;
  int64_t warmup_steps = 0;
  void check(Checker& c) const;
  TENON_FN(peak, warmup_steps)
  double operator()(int64_t step) const;
};

}  // namespace tenon
