// Steps whose gradient norm stands out from those before.
#pragma once

#include <vector>

#include "tenon/optim/optimizer.h"

namespace tenon {

// A step is a spike when its norm is above mean + num_deviations deviations and above min_ratio means, of the steps so
// far: running statistics, in which a step counts 1/n until that is less than 1 - decay, then so much. A spike counts
// as the largest norm that is none, so that one changes little and a lasting rise is followed. Steps that aren't finite
// don't count at all.
struct NormSpikes {
  double num_deviations = 6;
  double min_ratio = 2;
  double decay = 0.99;
  // So many steps must have counted.
  int64_t warmup_steps = 100;
  void check(Checker& c) const;
  TENON_FIELDS(num_deviations, min_ratio, decay, warmup_steps)
  bool operator==(const NormSpikes&) const = default;

  // Run-time numbers, "spike_deviations" and "spike_ratio".
  StepScalars scalars() const;
  // f32 scalars, "norm_mean", "norm_variance" and "norm_count"; zeros at the start.
  static std::vector<ParamInfo> describe();

  struct Test {
    Tensor is_spike;  // i1 scalar; false for what isn't finite
    Nest state;
  };
  // Traced: `norm` f32 and `finite` i1 are scalars.
  Test operator()(const Tensor& norm, const Tensor& finite, const Nest& state, const Nest& step_scalars) const;
};

}  // namespace tenon
