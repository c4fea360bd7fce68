#include "tenon/optim/clip.h"

#include "tenon/config/build_part.h"
#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/optim/adamw.h"

namespace tenon {

TENON_INTERFACE(GradientClip, Optimizer, "gives a clipped gradient to another optimizer",
                {"optimizer", "what gets the clipped gradient"})
TENON_MODULE(ClipByValue, GradientClip, "clips every element of the gradient",
             {"max_value", "the largest magnitude of an element"})
TENON_MODULE(AdaptiveClip, GradientClip, "clips each unit's gradient in relation to its parameters",
             {"max_ratio", "the largest norm of a unit's gradient as a part of that of its parameters"},
             {"min_norm", "the least that a norm of parameters counts for"})

GradientClip::Config::Config() : optimizer(AdamW::Config{}) {}

GradientClip::GradientClip(const Config& config) : optimizer_(build_part("optimizer", config.optimizer)) {}

void GradientClip::check_parameters(const std::vector<ParamInfo>& params) const {
  try {
    optimizer_->check_parameters(params);
  } catch (Error& e) {
    e.prefix("optimizer");
    throw;
  }
}

std::pair<Tensor, Nest> GradientClip::update(const OptimizerArgs& args) const {
  OptimizerArgs clipped = args;
  clipped.grad = clip(args);
  return optimizer_->update(clipped);
}

void ClipByValue::Config::check(Checker& c) const { c.positive("max_value", max_value); }

StepScalars ClipByValue::scalars(int64_t step) const {
  StepScalars out = GradientClip::scalars(step);
  out["clip_value"] = max_value_;
  return out;
}

Tensor ClipByValue::clip(const OptimizerArgs& args) const {
  const Tensor limit = spread(args.scalars.at("clip_value"), args.grad);
  return clamp(args.grad, -limit, limit);
}

void AdaptiveClip::Config::check(Checker& c) const {
  c.positive("max_ratio", max_ratio);
  c.positive("min_norm", min_norm);
}

StepScalars AdaptiveClip::scalars(int64_t step) const {
  StepScalars out = GradientClip::scalars(step);
  out["clip_ratio"] = max_ratio_;
  return out;
}

namespace {

// With dimensions of size 1 for those summed over.
Tensor unit_norms(const ParamInfo& param, const Tensor& x) {
  Dims dims;
  const int64_t end = param.shape.size() > 1 ? x.rank() - 1 : x.rank();
  for (int64_t d = stack_rank(param); d < end; ++d) dims.push_back(d);
  return sqrt(dims.empty() ? x * x : sum_keep(x * x, dims));
}

}  // namespace

Tensor AdaptiveClip::clip(const OptimizerArgs& args) const {
  const Tensor size = unit_norms(args.param, args.value), norm = unit_norms(args.param, args.grad);
  const Tensor limit = maximum(size, full_like(size, min_norm_)) * args.scalars.at("clip_ratio");
  return args.grad * minimum(limit / norm, full_like(norm, 1));
}

}  // namespace tenon
