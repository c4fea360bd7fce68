// Lion: the sign of a momentum.
#pragma once

#include "tenon/optim/optimizer.h"

namespace tenon {

// Chen et al. 2023 ("Symbolic discovery of optimization algorithms", algorithm 2):
//   p = p - lr (weight_decay decay_scale p + sign(b1 m + (1 - b1) g))        m = b2 m + (1 - b2) g
// Every element moves by the learning rate, so rates are 3 to 10 times below AdamW's, and decays as much above.
class Lion final : public Optimizer {
 public:
  struct Config : Optimizer::Config {
    double b1 = 0.9;
    double b2 = 0.99;
    double weight_decay = 0.3;
    void check(Checker& c) const;
    TENON_CONFIG(b1, b2, weight_decay)
  };
  explicit Lion(const Config& config) : config_(config) {}

  StepScalars scalars(int64_t step) const override;
  std::vector<ParamInfo> describe(const ParamInfo& param) const override;
  Nest init(const ParamInfo& param, const Tensor& value) const override;
  std::pair<Tensor, Nest> update(const OptimizerArgs& args) const override;

 private:
  Config config_;
};

}  // namespace tenon
