#include "tenon/optim/lion.h"

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_MODULE(Lion, Optimizer, "the sign of a momentum",
             {"b1", "share of the momentum in the sign that is stepped along"}, {"b2", "decay of the momentum"},
             {"weight_decay", "share of a parameter taken off at learning rate 1"})

void Lion::Config::check(Checker& c) const {
  check_interval(c, "b1", b1, '[', 0, 1, ')');
  check_interval(c, "b2", b2, '[', 0, 1, ')');
  c.at_least("weight_decay", weight_decay, 0);
}

StepScalars Lion::scalars(int64_t) const { return {{"weight_decay", config_.weight_decay}}; }

std::vector<ParamInfo> Lion::describe(const ParamInfo& param) const { return {like_parameter(param, "m")}; }

Nest Lion::init(const ParamInfo&, const Tensor& value) const { return {{"m", zeros_like(value)}}; }

std::pair<Tensor, Nest> Lion::update(const OptimizerArgs& args) const {
  const Tensor &g = args.grad, &m = args.state.at("m");
  const Tensor direction = sign(m * config_.b1 + g * (1 - config_.b1));
  return {decoupled_step(args, direction), Nest{{"m", m * config_.b2 + g * (1 - config_.b2)}}};
}

}  // namespace tenon
