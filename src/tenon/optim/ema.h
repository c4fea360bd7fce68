// Running means of parameters.
#pragma once

#include "tenon/optim/optimizer.h"

namespace tenon {

// After update t (from 1): mean = d mean + (1 - d) p with d = min(decay, (1 + t) / (10 + t)), from the initial
// parameters, which the growing d lets go of soon (as tf.train.ExponentialMovingAverage with num_updates). Means are
// f32 and split as their parameters are; skipped steps leave them. Their updates have a count of their own: they may
// begin later than the optimizer, or outlive it.
struct Ema {
  double decay = 0.999;
  // Whether evaluations use the means in place of the parameters.
  bool evaluate = true;
  void check(Checker& c) const;
  TENON_FIELDS(decay, evaluate)
  bool operator==(const Ema&) const = default;

  // What means are named by: "ema.<path of the parameter>".
  static constexpr const char* kName = "ema";
  // The f32 scalar that counts their updates.
  static constexpr const char* kUpdates = "ema_updates";
  // Traced: the next mean, from f32 scalars and arrays of one shape.
  static Tensor update(const Tensor& mean, const Tensor& value, const Tensor& decay, const Tensor& num_updates);
};

}  // namespace tenon
