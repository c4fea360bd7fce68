#include "tenon/optim/sgd.h"

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_MODULE(Sgd, Optimizer, "gradient descent with momentum", {"momentum", "decay of the sum of gradients; 0: none"},
             {"nesterov", "whether the step looks one step ahead"},
             {"weight_decay", "share of a parameter taken off at learning rate 1"})

void Sgd::Config::check(Checker& c) const {
  check_interval(c, "momentum", momentum, '[', 0, 1, ')');
  c.require(!nesterov || momentum > 0, "nesterov", "needs momentum");
  c.at_least("weight_decay", weight_decay, 0);
}

StepScalars Sgd::scalars(int64_t) const { return {{"weight_decay", config_.weight_decay}}; }

std::vector<ParamInfo> Sgd::describe(const ParamInfo& param) const {
  if (config_.momentum == 0) return {};
  return {like_parameter(param, "momentum")};
}

Nest Sgd::init(const ParamInfo&, const Tensor& value) const {
  if (config_.momentum == 0) return {};
  return {{"momentum", zeros_like(value)}};
}

std::pair<Tensor, Nest> Sgd::update(const OptimizerArgs& args) const {
  if (config_.momentum == 0) return {decoupled_step(args, args.grad), {}};
  const Tensor m = args.state.at("momentum") * config_.momentum + args.grad;
  const Tensor direction = config_.nesterov ? args.grad + m * config_.momentum : m;
  return {decoupled_step(args, direction), Nest{{"momentum", m}}};
}

}  // namespace tenon
