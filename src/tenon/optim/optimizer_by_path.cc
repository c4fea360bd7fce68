#include "tenon/optim/optimizer_by_path.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "tenon/base/stacked_name.h"
#include "tenon/base/text.h"
#include "tenon/config/build_part.h"
#include "tenon/config/define.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/indexing.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/optim/adamw.h"

namespace tenon {

TENON_MODULE(OptimizerRule, Configurable, "an optimizer for the parameters whose path matches",
             {"path", "regular expression looked for in the parameter's path"}, {"optimizer", "what updates them"},
             {"learning_rate_scale", "multiplies the learning rate"},
             {"weight_decay_scale", "multiplies the optimizer's weight decay"},
             {"layer_rates", "by layer, multiplies the learning rate too"})
TENON_MODULE(OptimizerByPath, Optimizer, "different optimizers for different parameters",
             {"rules", "the first that matches has the parameter"}, {"otherwise", "for those that no rule matches"})

TENON_FN_TYPE(LayerDecay, double(const ParamLayer&), "1 in the last layer, `factor` times less each layer before it",
              {"factor", "a layer's rate as a part of the next one's"}, {"num_layers", "how many there are"})

void LayerDecay::check(Checker& c) const {
  c.positive("factor", factor);
  c.positive("num_layers", num_layers);
}

double LayerDecay::operator()(const ParamLayer& layer) const {
  return std::pow(factor, static_cast<double>(num_layers - 1 - layer.number));
}

OptimizerRule::Config::Config() : optimizer(AdamW::Config{}) {}

void OptimizerRule::Config::check(Checker& c) const {
  c.at_least("learning_rate_scale", learning_rate_scale, 0);
  c.at_least("weight_decay_scale", weight_decay_scale, 0);
  if (!path.is_set()) return;
  if (const Result<Regex> regex = Regex::compile(*path); !regex.ok()) c.require(false, "path", regex.error().message());
}

OptimizerRule::OptimizerRule(const Config& config)
    : path_(config.path),
      pattern_(Regex::compile(path_).value()),
      learning_rate_scale_(config.learning_rate_scale),
      weight_decay_scale_(config.weight_decay_scale),
      layer_rates_(config.layer_rates),
      optimizer_(build_part("optimizer", config.optimizer)) {}

bool OptimizerRule::matches(const std::string& parameter) const { return pattern_.finds(parameter); }

namespace {

// The first part of a path that is a number.
std::optional<int64_t> layer_number(const std::string& path) {
  for (const std::string& part : split(path, '.')) {
    if (const Result<int64_t> number = parse_int(part); number.ok()) return *number;
  }
  return std::nullopt;
}

}  // namespace

void OptimizerRule::check_parameter(const ParamInfo& param) const {
  if (!layer_rates_.has_value()) return;
  for (const std::string& name : layer_names(param.path, param.stack)) {
    if (layer_number(name)) continue;
    throw Error(ErrorCode::invalid_argument, "layer_rates for a parameter that is in no layer")
        .at(name)
        .hint("let a rule without layer_rates, before this one, match it");
  }
}

std::vector<double> OptimizerRule::rate_scales(const ParamInfo& param) const {
  if (!layer_rates_.has_value()) return {learning_rate_scale_};
  std::vector<double> out;
  for (const std::string& name : layer_names(param.path, param.stack)) {
    out.push_back(learning_rate_scale_ * layer_rates_(ParamLayer{layer_number(name).value()}));
  }
  return out;
}

std::pair<Tensor, Nest> OptimizerRule::update(const OptimizerArgs& args) const {
  ParamInfo param = args.param;
  param.decay_scale *= weight_decay_scale_;
  Nest scalars = args.scalars;
  Tensor& rate = scalars.at("learning_rate");
  const std::vector<double> scales = rate_scales(param);
  if (scales.size() > 1) {
    Dims dims(static_cast<size_t>(args.value.rank()), 1);
    dims[0] = param.stack;
    Tensor by_layer = constant(Literal::from(DType::f32, dims, scales));
    if (args.layer) {
      std::vector<Tensor> starts(dims.size(), zeros({DType::i32, {}}));
      starts[0] = args.layer;
      by_layer = dynamic_slice(by_layer, starts, Dims(dims.size(), 1));
    }
    rate = rate * by_layer;
  } else if (scales[0] != 1) {
    rate = rate * scales[0];
  }
  return optimizer_->update(
      {param, args.value, args.grad, args.state, scalars, args.num_updates, args.applied, args.layer});
}

OptimizerByPath::Config::Config() : otherwise(AdamW::Config{}) {}

OptimizerByPath::OptimizerByPath(const Config& config) : otherwise_(build_part("otherwise", config.otherwise)) {
  for (size_t i = 0; i < config.rules.size(); ++i) {
    rules_.push_back(build_part(fmt::format("rules.{}", i), config.rules[i]));
  }
}

size_t OptimizerByPath::find_rule(const ParamInfo& param) const {
  std::optional<size_t> found;
  const std::vector<std::string> names = layer_names(param.path, param.stack);
  for (const std::string& name : names) {
    size_t rule = 0;
    while (rule < rules_.size() && !rules_[rule]->matches(name)) ++rule;
    if (found && *found != rule) {
      throw Error(ErrorCode::unsupported, "different rules match the layers of one scanned array")
          .at(param.path)
          .got(fmt::format("{}: {}; {}: {}", names.front(), prefix(*found), name, prefix(rule)))
          .hint("unroll the stack (form = \"unroll\"), or let one rule match all its layers");
    }
    found = rule;
  }
  return found.value_or(rules_.size());
}

const Optimizer& OptimizerByPath::optimizer(size_t rule) const {
  return rule < rules_.size() ? rules_[rule]->optimizer() : *otherwise_;
}

std::string OptimizerByPath::prefix(size_t rule) const {
  return rule < rules_.size() ? std::to_string(rule) : "otherwise";
}

void OptimizerByPath::check_parameters(const std::vector<ParamInfo>& params) const {
  std::vector<std::vector<ParamInfo>> by_rule(rules_.size() + 1);
  for (const ParamInfo& param : params) by_rule[find_rule(param)].push_back(param);
  for (size_t rule = 0; rule <= rules_.size(); ++rule) {
    optimizer(rule).check_parameters(by_rule[rule]);
    if (rule == rules_.size()) continue;
    for (const ParamInfo& param : by_rule[rule]) rules_[rule]->check_parameter(param);
    if (!by_rule[rule].empty()) continue;
    throw Error(ErrorCode::invalid_argument, "no parameter is left for this rule")
        .at(fmt::format("rules.{}.path", rule))
        .got(rules_[rule]->path())
        .hint("`tenon train` lists the parameters; of several rules that match, the first has a parameter");
  }
}

const Optimizer& OptimizerByPath::rule_of(const ParamInfo& param) const {
  return optimizer(find_rule(param)).rule_of(param);
}

bool OptimizerByPath::updates(const ParamInfo& param) const { return optimizer(find_rule(param)).updates(param); }

StepScalars OptimizerByPath::scalars(int64_t step) const {
  StepScalars out;
  for (size_t rule = 0; rule <= rules_.size(); ++rule) {
    for (const auto& [name, value] : optimizer(rule).scalars(step)) out[prefix(rule) + "." + name] = value;
  }
  return out;
}

std::vector<ParamInfo> OptimizerByPath::describe(const ParamInfo& param) const {
  return optimizer(find_rule(param)).describe(param);
}

Nest OptimizerByPath::init(const ParamInfo& param, const Tensor& value) const {
  return optimizer(find_rule(param)).init(param, value);
}

std::pair<Tensor, Nest> OptimizerByPath::update(const OptimizerArgs& args) const {
  const size_t rule = find_rule(args.param);
  OptimizerArgs own = args;
  own.scalars = {{"learning_rate", args.scalars.at("learning_rate")}};
  const std::string start = prefix(rule) + ".";
  for (const auto& [name, value] : args.scalars) {
    if (name.starts_with(start)) own.scalars.emplace(name.substr(start.size()), value);
  }
  return rule < rules_.size() ? rules_[rule]->update(own) : otherwise_->update(own);
}

}  // namespace tenon
