// Gradient descent with momentum.
#pragma once

#include "tenon/optim/optimizer.h"

namespace tenon {

// In the convention of torch.optim.SGD without dampening (Sutskever et al. 2013), with decoupled weight decay:
//   m = momentum m + g        u = g + momentum m with nesterov, else m
//   p = p - lr (weight_decay decay_scale p + u)
// Without momentum nothing is kept.
class Sgd final : public Optimizer {
 public:
  struct Config : Optimizer::Config {
    double momentum = 0.9;
    bool nesterov = false;
    double weight_decay = 0;
    void check(Checker& c) const;
    TENON_CONFIG(momentum, nesterov, weight_decay)
  };
  explicit Sgd(const Config& config) : config_(config) {}

  StepScalars scalars(int64_t step) const override;
  std::vector<ParamInfo> describe(const ParamInfo& param) const override;
  Nest init(const ParamInfo& param, const Tensor& value) const override;
  std::pair<Tensor, Nest> update(const OptimizerArgs& args) const override;

 private:
  Config config_;
};

}  // namespace tenon
