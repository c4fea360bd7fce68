#include "tenon/optim/learner.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <typeinfo>

#include "tenon/base/stacked_name.h"
#include "tenon/base/text.h"
#include "tenon/config/build_part.h"
#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/optim/adamw.h"

namespace tenon {

TENON_MODULE(Learner, Configurable, "from gradients to the next parameters",
             {"optimizer", "the rule for one parameter"}, {"learning_rate", "by step, from 0"},
             {"clip_global_norm", "the largest norm of all gradients together"},
             {"max_skipped_steps", "skipped steps in a row that end the run"},
             {"skip_spikes", "which gradient norms stand out, so that the step is skipped; none: no finite one"},
             {"ema", "running means of the parameters"},
             {"offload", "which of the optimizer's arrays lie in host memory"},
             {"state_dtypes", "dtypes of what is kept for parameters, by regular expression; else f32"})

Learner::Config::Config() : optimizer(AdamW::Config{}) {}

void Learner::Config::check(Checker& c) const {
  c.require(learning_rate.has_value(), "learning_rate", "must be set");
  if (learning_rate.is_constant()) {
    const double rate = learning_rate(0);
    c.require(rate >= 0 && std::isfinite(rate), "learning_rate",
              fmt::format("must be at least 0 and finite, is {}", format_float(rate)));
  }
  c.positive("clip_global_norm", clip_global_norm);
  c.positive("max_skipped_steps", max_skipped_steps);
}

namespace {

constexpr const char* kSkippedInARow = "skipped_in_a_row";

ParamInfo counter(const char* name) {
  ParamInfo out;
  out.path = name;
  out.trainable = false;
  return out;
}

std::string mean_name(const ParamInfo& param) { return std::string(Ema::kName) + "." + param.path; }

Tensor in_f32(const Tensor& x) { return convert(x, DType::f32); }

Nest own_state(const Optimizer& optimizer, const ParamInfo& param, const Nest& state) {
  Nest out;
  for (const ParamInfo& array : optimizer.describe(param))
    out.emplace(array.path, in_f32(state.at(array.path + "." + param.path)));
  return out;
}

}  // namespace

Tensor global_norm(const Nest& tensors) {
  Tensor sum = zeros({DType::f32, {}});
  for (const auto& [path, t] : tensors) sum = sum + sum_all(t * t);
  return sqrt(sum);
}

Learner::Learner(const Config& config) : config_(config), optimizer_(build_part("optimizer", config.optimizer)) {
  if (config_.offload) offloaded_ = Regex::compile(config_.offload->arrays).value();
  for (const auto& [text, dtype] : config.state_dtypes) {
    Result<Regex> pattern = Regex::compile(text);
    if (!pattern.ok()) throw Error(pattern.error()).at("state_dtypes");
    dtype_rules_.push_back({text, std::move(pattern).value(), kept_dtype(dtype, "state_dtypes")});
  }
}

std::optional<size_t> Learner::dtype_rule(const std::string& name) const {
  std::optional<size_t> out;
  for (size_t i = 0; i < dtype_rules_.size(); ++i) {
    if (!dtype_rules_[i].pattern.finds(name)) continue;
    if (out) {
      throw Error(ErrorCode::invalid_argument, "two patterns match one array")
          .at("state_dtypes")
          .got(quote_text(dtype_rules_[*out].text) + " and " + quote_text(dtype_rules_[i].text) + ", " + name);
    }
    out = i;
  }
  return out;
}

std::set<std::string> Learner::on_host(const ParamInfo& param) const {
  std::set<std::string> out;
  if (!offloaded_) return out;
  for (const ParamInfo& array : optimizer_->describe(param)) {
    if (offloaded_->finds(array.path + "." + param.path)) out.insert(array.path);
  }
  return out;
}

std::set<std::string> Learner::offloaded(const std::vector<ParamInfo>& params) const {
  std::set<std::string> out;
  for (const ParamInfo& param : params) {
    if (!param.trainable) continue;
    for (const std::string& array : on_host(param)) out.insert(array + "." + param.path);
  }
  return out;
}

StepScalars Learner::scalars(int64_t step) const {
  StepScalars out = optimizer_->scalars(step);
  out["learning_rate"] = config_.learning_rate(step);
  out["clip_global_norm"] = config_.clip_global_norm;
  if (config_.ema) out["ema_decay"] = config_.ema->decay;
  if (config_.skip_spikes) out.merge(config_.skip_spikes->scalars());
  return out;
}

void Learner::check_parameters(const std::vector<ParamInfo>& params) const {
  std::vector<ParamInfo> trainable;
  for (const ParamInfo& param : params) {
    if (param.trainable) trainable.push_back(param);
  }
  try {
    optimizer_->check_parameters(trainable);
  } catch (Error& e) {
    e.prefix("optimizer");
    throw;
  }
  check_dtype_rules(trainable);
  for (const ParamInfo& param : trainable) {
    if (!evaluates_ema() || !keeps_mean(param) || param.dtype == DType::f32) continue;
    throw Error(ErrorCode::unsupported, "means in f32 of a parameter that evaluations read in another dtype")
        .at("ema.evaluate")
        .got(std::string(to_string(param.dtype)) + ", " + param.path)
        .hint("set learner.ema.evaluate = false, or param_dtype = \"f32\"");
  }
  if (!offloaded_ || !offloaded(trainable).empty()) return;
  std::string example;
  for (const ParamInfo& param : trainable) {
    for (const ParamInfo& array : optimizer_->describe(param)) example = array.path + "." + param.path;
  }
  throw Error(ErrorCode::invalid_argument, "none of the optimizer's arrays is offloaded")
      .at("offload.arrays")
      .got(quote_text(config_.offload->arrays))
      .expected(example.empty() ? "an optimizer that keeps arrays" : "a match in names such as " + example);
}

void Learner::check_dtype_rules(const std::vector<ParamInfo>& params) const {
  const std::set<std::string> host = offloaded(params);
  std::set<size_t> used;
  for (const ParamInfo& array : parameter_arrays(params)) {
    const auto rule = dtype_rule(array.path);
    if (!rule) continue;
    used.insert(*rule);
    if (!host.contains(array.path)) continue;
    throw Error(ErrorCode::unsupported, "an array in host memory is f32")
        .at("state_dtypes")
        .got(quote_text(dtype_rules_[*rule].text) + ", which fits " + array.path)
        .hint("take it out of offload.arrays or of state_dtypes");
  }
  for (size_t i = 0; i < dtype_rules_.size(); ++i) {
    if (used.contains(i)) continue;
    throw Error(ErrorCode::invalid_argument, "nothing that is kept for parameters has such a name")
        .at("state_dtypes")
        .got(quote_text(dtype_rules_[i].text));
  }
}

std::vector<ParamInfo> Learner::parameter_arrays(const std::vector<ParamInfo>& params) const {
  std::vector<ParamInfo> out;
  for (const ParamInfo& param : params) {
    if (!param.trainable) continue;
    for (ParamInfo& array : optimizer_->describe(param)) {
      array.path += "." + param.path;
      out.push_back(std::move(array));
    }
    if (keeps_mean(param)) out.push_back(like_parameter(param, mean_name(param)));
  }
  return out;
}

std::vector<ParamInfo> Learner::describe(const std::vector<ParamInfo>& params) const {
  std::vector<ParamInfo> out = parameter_arrays(params);
  for (ParamInfo& array : out) {
    if (const auto rule = dtype_rule(array.path)) array.dtype = dtype_rules_[*rule].dtype;
  }
  if (config_.skip_spikes) {
    for (ParamInfo& info : NormSpikes::describe()) out.push_back(std::move(info));
  }
  for (const char* name : {kSkipped, kSkippedInARow}) out.push_back(counter(name));
  if (config_.ema) out.push_back(counter(Ema::kUpdates));
  return out;
}

std::map<std::string, bool> Learner::compare_rules(const std::vector<ParamInfo>& params, const Learner& other) const {
  std::map<std::string, bool> out;
  for (const ParamInfo& param : params) {
    if (!param.trainable) continue;
    ParamInfo layer = param;
    layer.stack = 0;
    layer.partition = {};
    for (std::string& name : layer_names(param.path, param.stack)) {
      layer.path = std::move(name);
      const Optimizer &own = optimizer_->rule_of(layer), &others = other.optimizer_->rule_of(layer);
      const bool same = typeid(own) == typeid(others);
      for (const ParamInfo& array : own.describe(layer)) out.emplace(array.path + "." + layer.path, same);
    }
  }
  return out;
}

Nest Learner::init(const std::vector<ParamInfo>& params, const Nest& values) const {
  Nest out{{kSkipped, zeros({DType::f32, {}})}, {kSkippedInARow, zeros({DType::f32, {}})}};
  for (const ParamInfo& param : params) {
    if (!param.trainable) continue;
    const Tensor value = in_f32(values.at(param.path));
    const std::set<std::string> host = on_host(param);
    const auto keep = [&](const std::string& name, const Tensor& array) {
      const auto rule = dtype_rule(name);
      out.emplace(name, rule ? convert(array, dtype_rules_[*rule].dtype) : array);
    };
    for (const auto& [name, array] : optimizer_->init(param, value))
      keep(name + "." + param.path, host.contains(name) ? to_host(array) : array);
    if (keeps_mean(param)) keep(mean_name(param), value);
  }
  if (config_.skip_spikes) {
    for (const ParamInfo& info : NormSpikes::describe()) out.emplace(info.path, zeros({DType::f32, {}}));
  }
  if (config_.ema) out.emplace(Ema::kUpdates, zeros({DType::f32, {}}));
  return out;
}

std::pair<Tensor, Nest> Learner::run_optimizer(const OptimizerArgs& args) const {
  auto [next, state] = optimizer_->update(args);
  for (auto& [name, array] : state) array = keep_unless(args.applied, array, args.state.at(name));
  return {keep_unless(args.applied, next, args.value), std::move(state)};
}

std::pair<Tensor, Nest> Learner::update_one(const OptimizerArgs& args, const Nest& state) const {
  const std::set<std::string> host = on_host(args.param);
  const auto rule = [&](const OptimizerArgs& a) { return run_optimizer(a); };
  const auto [next, own] = host.empty() ? rule(args) : update_offloaded(args, host, rule);
  Nest named;
  for (const auto& [name, array] : own) named.emplace(name + "." + args.param.path, array);
  if (keeps_mean(args.param)) {
    const std::string name = mean_name(args.param);
    const Tensor before = in_f32(state.at(name));
    const Tensor num_updates = state.at(Ema::kUpdates) + 1.0;
    const Tensor mean = Ema::update(before, next, args.scalars.at("ema_decay"), num_updates);
    named.emplace(name, keep_unless(args.applied, mean, before));
  }
  return {next, std::move(named)};
}

Learner::Update Learner::update(const std::vector<ParamInfo>& params, const Nest& values, const Nest& grads,
                                const Nest& state, const Tensor& loss, const Tensor& step, const Nest& scalars) const {
  Update out;
  Nest used;  // gradients that change something
  for (const ParamInfo& param : params) {
    if (param.trainable && optimizer_->updates(param)) used.emplace(param.path, grads.at(param.path));
  }
  out.grad_norm = global_norm(used);
  out.applied = logical_and(is_finite(loss), is_finite(out.grad_norm));
  if (config_.skip_spikes) {
    NormSpikes::Test test = (*config_.skip_spikes)(out.grad_norm, out.applied, state, scalars);
    out.applied = logical_and(out.applied, logical_not(test.is_spike));
    out.state = std::move(test.state);
  }
  const Tensor skip = convert(logical_not(out.applied), DType::f32);
  out.skipped = state.at(kSkipped) + skip;
  out.skipped_in_a_row = (state.at(kSkippedInARow) + skip) * skip;
  const Tensor num_updates = convert(step, DType::f32) + 1.0 - state.at(kSkipped);
  const Tensor limit = scalars.at("clip_global_norm");
  const Tensor factor = minimum(limit / out.grad_norm, full_like(limit, 1));

  for (const ParamInfo& param : params) {
    if (!param.trainable) continue;
    const Tensor& stored = values.at(param.path);
    const Tensor value = in_f32(stored);
    const Nest own = own_state(*optimizer_, param, state);
    const Tensor grad = grads.at(param.path) * factor;
    const auto [next, after] = update_one({param, value, grad, own, scalars, num_updates, out.applied}, state);
    out.values.emplace(param.path, convert(next, stored.dtype()));
    for (const auto& [name, array] : after) out.state.emplace(name, convert(array, state.at(name).dtype()));
  }
  out.state.emplace(kSkipped, out.skipped);
  out.state.emplace(kSkippedInARow, out.skipped_in_a_row);
  if (config_.ema) out.state.emplace(Ema::kUpdates, state.at(Ema::kUpdates) + 1.0 - skip);
  return out;
}

}  // namespace tenon
