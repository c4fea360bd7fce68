#include "tenon/nn/state_space/initializers.h"

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"

namespace tenon {

using InitSignature = Tensor(const InitArgs&);
TENON_FN_TYPE(LogOfUniform, InitSignature, "log(u), u uniform in [low, high)")
TENON_FN_TYPE(InverseSoftplusOfLogUniform, InitSignature,
              "the x with softplus(x) = dt, log(dt) uniform between those of low and high")

namespace {

void check_range(Checker& c, double low, double high) {
  check_above_zero(c, "low", low);
  check_finite(c, "high", high);
  c.at_least("high", high, low);
}

Tensor uniform(const InitArgs& args, double low, double high) {
  return random_uniform(args.key, args.shape, DType::f32) * (high - low) + low;
}

}  // namespace

void LogOfUniform::check(Checker& c) const { check_range(c, low, high); }
Tensor LogOfUniform::operator()(const InitArgs& args) const { return log(uniform(args, low, high)); }

void InverseSoftplusOfLogUniform::check(Checker& c) const { check_range(c, low, high); }
Tensor InverseSoftplusOfLogUniform::operator()(const InitArgs& args) const {
  const Tensor dt = exp(uniform(args, std::log(low), std::log(high)));
  return dt + log(neg(expm1(neg(dt))));
}

}  // namespace tenon
