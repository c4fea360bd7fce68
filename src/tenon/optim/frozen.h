// Parameters that stay as they are.
#pragma once

#include "tenon/optim/optimizer.h"

namespace tenon {

// Keeps no state. The learner leaves such gradients out of the norm that it clips by.
class Frozen final : public Optimizer {
 public:
  struct Config : Optimizer::Config {
    TENON_CONFIG()
  };
  explicit Frozen(const Config&) {}

  bool updates(const ParamInfo&) const override { return false; }
  StepScalars scalars(int64_t) const override { return {}; }
  std::vector<ParamInfo> describe(const ParamInfo&) const override { return {}; }
  Nest init(const ParamInfo&, const Tensor&) const override { return {}; }
  std::pair<Tensor, Nest> update(const OptimizerArgs& args) const override { return {args.value, {}}; }
};

}  // namespace tenon
