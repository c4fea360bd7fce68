// How the parameters of state-space layers start.
#pragma once

#include "tenon/nn/initializers.h"

namespace tenon {

// log(u), u uniform in [low, high): decays exp(-dt u).
struct LogOfUniform {
  double low = 1, high = 16;
  void check(Checker& c) const;
  TENON_FN(low, high)
  Tensor operator()(const InitArgs& args) const;
};
// The x with softplus(x) = dt, log(dt) uniform between those of `low` and `high`.
struct InverseSoftplusOfLogUniform {
  double low = 1e-3, high = 0.1;
  void check(Checker& c) const;
  TENON_FN(low, high)
  Tensor operator()(const InitArgs& args) const;
};

}  // namespace tenon
