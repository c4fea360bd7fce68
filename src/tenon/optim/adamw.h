// Adam with decoupled weight decay.
#pragma once

#include "tenon/optim/optimizer.h"

namespace tenon {

// Loshchilov & Hutter 2019, algorithm 2, in the convention of torch.optim.AdamW: the decay is multiplied by the
// learning rate.
//   m = b1 m + (1 - b1) g                    v = b2 v + (1 - b2) g^2
//   p = p - lr (weight_decay decay_scale p + (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps))
// Moments are f32 and split as their parameter is.
class AdamW final : public Optimizer {
 public:
  struct Config : Optimizer::Config {
    double b1 = 0.9;
    double b2 = 0.95;
    double eps = 1e-8;
    double weight_decay = 0.1;
    void check(Checker& c) const;
    TENON_CONFIG(b1, b2, eps, weight_decay)
  };
  explicit AdamW(const Config& config) : config_(config) {}

  StepScalars scalars(int64_t step) const override;
  std::vector<ParamInfo> describe(const ParamInfo& param) const override;
  Nest init(const ParamInfo& param, const Tensor& value) const override;
  std::pair<Tensor, Nest> update(const OptimizerArgs& args) const override;

 private:
  Config config_;
};

// Adam's moments after an update, from "m" and "v" of the state, and the direction that they give:
// (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps).
struct AdamStep {
  Tensor direction, m, v;
};
AdamStep adam_step(const OptimizerArgs& args, double b1, double b2, double eps);

}  // namespace tenon
