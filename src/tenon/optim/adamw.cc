#include "tenon/optim/adamw.h"

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_MODULE(AdamW, Optimizer, "Adam with decoupled weight decay", {"b1", "decay of the first moment"},
             {"b2", "decay of the second moment"}, {"eps", "added to the root of the second moment"},
             {"weight_decay", "share of a parameter taken off at learning rate 1"})

void AdamW::Config::check(Checker& c) const {
  check_interval(c, "b1", b1, '[', 0, 1, ')');
  check_interval(c, "b2", b2, '[', 0, 1, ')');
  c.positive("eps", eps);
  c.at_least("weight_decay", weight_decay, 0);
}

namespace {

// 1 - beta^t, exact where beta^t is close to 1.
Tensor bias_correction(double beta, const Tensor& t) {
  return beta == 0 ? full_like(t, 1) : neg(expm1(t * std::log(beta)));
}

}  // namespace

StepScalars AdamW::scalars(int64_t) const { return {{"weight_decay", config_.weight_decay}}; }

std::vector<ParamInfo> AdamW::describe(const ParamInfo& param) const {
  return {like_parameter(param, "m"), like_parameter(param, "v")};
}

Nest AdamW::init(const ParamInfo&, const Tensor& value) const {
  return {{"m", zeros_like(value)}, {"v", zeros_like(value)}};
}

AdamStep adam_step(const OptimizerArgs& args, double b1, double b2, double eps) {
  const Tensor &g = args.grad, &m_before = args.state.at("m"), &v_before = args.state.at("v");
  const Tensor m = keep_unless(args.applied, m_before * b1 + g * (1 - b1), m_before);
  const Tensor v = keep_unless(args.applied, v_before * b2 + g * g * (1 - b2), v_before);
  // The step reads the moments that are kept. Were they computed for it again, from the old ones, a compiler that
  // updates arrays in place would have to copy every moment first.
  const std::vector<Tensor> kept = optimization_barrier({m, v});
  const Tensor m_hat = kept[0] / spread(bias_correction(b1, args.num_updates), m);
  const Tensor v_hat = kept[1] / spread(bias_correction(b2, args.num_updates), v);
  return {m_hat / (sqrt(v_hat) + eps), m, v};
}

std::pair<Tensor, Nest> AdamW::update(const OptimizerArgs& args) const {
  const AdamStep step = adam_step(args, config_.b1, config_.b2, config_.eps);
  return {decoupled_step(args, step.direction), Nest{{"m", step.m}, {"v", step.v}}};
}

}  // namespace tenon
