#include "tenon/optim/ema.h"

#include "tenon/config/checker.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"

namespace tenon {

void Ema::check(Checker& c) const { check_interval(c, "decay", decay, '[', 0, 1, ')'); }

Tensor Ema::update(const Tensor& mean, const Tensor& value, const Tensor& decay, const Tensor& num_updates) {
  const Tensor d = minimum(decay, (num_updates + 1.0) / (num_updates + 10.0));
  return mean + spread(1.0 - d, mean) * (value - mean);
}

}  // namespace tenon
