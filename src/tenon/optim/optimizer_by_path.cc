#include "tenon/optim/optimizer_by_path.h"

#include <fmt/format.h>

#include <optional>

#include "tenon/base/stacked_name.h"
#include "tenon/config/build_part.h"
#include "tenon/config/define.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/optim/adamw.h"

namespace tenon {

TENON_MODULE(OptimizerRule, Configurable, "an optimizer for the parameters whose path matches",
             {"path", "regular expression looked for in the parameter's path"}, {"optimizer", "what updates them"},
             {"learning_rate_scale", "multiplies the learning rate"})
TENON_MODULE(OptimizerByPath, Optimizer, "different optimizers for different parameters",
             {"rules", "the first that matches has the parameter"}, {"otherwise", "for those that no rule matches"})

OptimizerRule::Config::Config() : optimizer(AdamW::Config{}) {}

void OptimizerRule::Config::check(Checker& c) const {
  c.at_least("learning_rate_scale", learning_rate_scale, 0);
  if (!path.is_set()) return;
  if (const Result<Regex> regex = Regex::compile(*path); !regex.ok()) c.require(false, "path", regex.error().message());
}

OptimizerRule::OptimizerRule(const Config& config)
    : path_(config.path),
      pattern_(Regex::compile(path_).value()),
      learning_rate_scale_(config.learning_rate_scale),
      optimizer_(build_part("optimizer", config.optimizer)) {}

bool OptimizerRule::matches(const std::string& parameter) const { return pattern_.finds(parameter); }

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
    if (rule == rules_.size() || !by_rule[rule].empty()) continue;
    throw Error(ErrorCode::invalid_argument, "no parameter is left for this rule")
        .at(fmt::format("rules.{}.path", rule))
        .got(rules_[rule]->path())
        .hint("`tenon train` lists the parameters; of several rules that match, the first has a parameter");
  }
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
  const Tensor& rate = args.scalars.at("learning_rate");
  const double scale = rule < rules_.size() ? rules_[rule]->learning_rate_scale() : 1;
  own.scalars = {{"learning_rate", scale == 1 ? rate : rate * scale}};
  const std::string start = prefix(rule) + ".";
  for (const auto& [name, value] : args.scalars) {
    if (name.starts_with(start)) own.scalars.emplace(name.substr(start.size()), value);
  }
  return optimizer(rule).update(own);
}

}  // namespace tenon
