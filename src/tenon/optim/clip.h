// Optimizers that get a clipped gradient. The learner's clipping by the norm of all gradients together comes first.
#pragma once

#include <memory>

#include "tenon/optim/optimizer.h"

namespace tenon {

// Gives the gradient, clipped, to another optimizer, whose state it keeps. In OptimizerByPath it clips some parameters.
class GradientClip : public Optimizer {
 public:
  struct Config : Optimizer::Config {
    Slot<Optimizer> optimizer;
    Config();
    TENON_FIELDS(optimizer)
  };
  void check_parameters(const std::vector<ParamInfo>& params) const override;
  const Optimizer& rule_of(const ParamInfo& param) const override { return optimizer_->rule_of(param); }
  bool updates(const ParamInfo& param) const override { return optimizer_->updates(param); }
  StepScalars scalars(int64_t step) const override { return optimizer_->scalars(step); }
  std::vector<ParamInfo> describe(const ParamInfo& param) const override { return optimizer_->describe(param); }
  Nest init(const ParamInfo& param, const Tensor& value) const override { return optimizer_->init(param, value); }
  std::pair<Tensor, Nest> update(const OptimizerArgs& args) const override;

 protected:
  explicit GradientClip(const Config& config);
  // The gradient to go on with.
  virtual Tensor clip(const OptimizerArgs& args) const = 0;

 private:
  std::unique_ptr<Optimizer> optimizer_;
};

// Every element into [-max_value, max_value].
class ClipByValue final : public GradientClip {
 public:
  struct Config : GradientClip::Config {
    double max_value = 1;
    void check(Checker& c) const;
    TENON_CONFIG(max_value)
  };
  explicit ClipByValue(const Config& config) : GradientClip(config), max_value_(config.max_value) {}
  // And "clip_value".
  StepScalars scalars(int64_t step) const override;

 private:
  Tensor clip(const OptimizerArgs& args) const override;
  double max_value_;
};

// Adaptive clipping (Brock et al. 2021, "High-performance large-scale image recognition without normalization", eq. 3):
// the norm of a unit's gradient is at most max_ratio max(norm of the unit's parameters, min_norm). A unit is what makes
// one element of the last dimension; an array of one dimension is one unit. The paper leaves the output layer alone.
class AdaptiveClip final : public GradientClip {
 public:
  struct Config : GradientClip::Config {
    double max_ratio = 0.01;
    double min_norm = 1e-3;
    void check(Checker& c) const;
    TENON_CONFIG(max_ratio, min_norm)
  };
  explicit AdaptiveClip(const Config& config)
      : GradientClip(config), max_ratio_(config.max_ratio), min_norm_(config.min_norm) {}
  // And "clip_ratio".
  StepScalars scalars(int64_t step) const override;

 private:
  Tensor clip(const OptimizerArgs& args) const override;
  double max_ratio_, min_norm_;
};

}  // namespace tenon
