// Different optimizers for different parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/base/regex.h"
#include "tenon/optim/optimizer.h"

namespace tenon {

// A layer as LayerRates know it: the number in the parameter's path, 3 of "decoder.layers.3.norm.scale".
struct ParamLayer {
  int64_t number = 0;
};
// What a layer's learning rate is multiplied by.
using LayerRates = Fn<double(const ParamLayer&)>;

// factor^(num_layers - 1 - number): 1 in the last layer, less before it (Clark et al. 2020, "ELECTRA", appendix).
struct LayerDecay {
  double factor = 0.9;
  Required<int64_t> num_layers;
  void check(Checker& c) const;
  TENON_FN(factor, num_layers)
  double operator()(const ParamLayer& layer) const;
};

// One rule of OptimizerByPath.
class OptimizerRule final : public Configurable {
 public:
  struct Config : AnyConfig {
    // A regular expression (ECMAScript) looked for anywhere in the parameter's path: "embedding|norm\\.scale$".
    Required<std::string> path;
    Slot<Optimizer> optimizer;
    double learning_rate_scale = 1;
    // Multiplies the optimizer's weight decay.
    double weight_decay_scale = 1;
    // And the learning rate of each layer; empty: 1. All parameters of the rule must then be in layers.
    LayerRates layer_rates;
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(path, optimizer, learning_rate_scale, weight_decay_scale, layer_rates)
  };
  explicit OptimizerRule(const Config& config);

  const std::string& path() const { return path_; }
  bool matches(const std::string& parameter) const;
  const Optimizer& optimizer() const { return *optimizer_; }
  // Throws `invalid_argument` when there are layer rates and the parameter is in no layer.
  void check_parameter(const ParamInfo& param) const;
  // The optimizer's update, with this rule's scales.
  std::pair<Tensor, Nest> update(const OptimizerArgs& args) const;

 private:
  // What the learning rate of each of a parameter's layers is multiplied by: one for all when they don't differ.
  std::vector<double> rate_scales(const ParamInfo& param) const;

  std::string path_;
  Regex pattern_;
  double learning_rate_scale_, weight_decay_scale_;
  LayerRates layer_rates_;
  std::unique_ptr<Optimizer> optimizer_;
};

// The first rule whose path is found in a parameter's path has it; `otherwise` has the rest. All share the learning
// rate, times their rule's scale. Paths are those of single layers ("decoder.layers.3.norm.scale"), scanned or not;
// layers of one scanned array that different rules match are `unsupported`.
class OptimizerByPath final : public Optimizer {
 public:
  struct Config : Optimizer::Config {
    std::vector<Slot<OptimizerRule>> rules;
    Slot<Optimizer> otherwise;
    Config();
    TENON_CONFIG(rules, otherwise)
  };
  explicit OptimizerByPath(const Config& config);

  // Every rule must have a parameter (`invalid_argument`), and its optimizer fit those it has.
  void check_parameters(const std::vector<ParamInfo>& params) const override;
  const Optimizer& rule_of(const ParamInfo& param) const override;
  bool updates(const ParamInfo& param) const override;
  // Those of each rule as "<index>.<name>", of `otherwise` as "otherwise.<name>".
  StepScalars scalars(int64_t step) const override;
  // Throws `unsupported` as above.
  std::vector<ParamInfo> describe(const ParamInfo& param) const override;
  Nest init(const ParamInfo& param, const Tensor& value) const override;
  std::pair<Tensor, Nest> update(const OptimizerArgs& args) const override;

 private:
  // The index of the rule that has it; the number of rules for `otherwise`.
  size_t find_rule(const ParamInfo& param) const;
  const Optimizer& optimizer(size_t rule) const;
  std::string prefix(size_t rule) const;

  std::vector<std::unique_ptr<OptimizerRule>> rules_;
  std::unique_ptr<Optimizer> otherwise_;
};

}  // namespace tenon
