#include "tenon/optim/modifiers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tenon/base/error.h"
#include "tenon/config/define.h"
#include "tenon/config/modify.h"
#include "tenon/config/tree.h"
#include "tenon/nn/basic/dropout.h"
#include "tenon/nn/dot/lora.h"
#include "tenon/optim/frozen.h"
#include "tenon/optim/learner.h"
#include "tenon/optim/optimizer_by_path.h"

namespace tenon {

TENON_FN_TYPE(Freeze, void(AnyConfig&), "trains no parameter whose path matches",
              {"parameters", "regular expression looked for in the parameter's path"})
TENON_FN_TYPE(OffloadOptimizerState, void(AnyConfig&), "keeps the optimizer's arrays in host memory",
              {"arrays", "regular expression looked for in their names"})
TENON_FN_TYPE(AddLoRA, void(AnyConfig&), "low-rank adapters on linear layers; they alone are trained",
              {"rank", "of what is added to a weight"}, {"alpha", "divided by rank, multiplies what is added"},
              {"dropout", "share of their input that adapters don't see in training"},
              {"within", "only at paths that match this, and below"})

namespace {

// Changes the learner in a tree.
class LearnerVisitor : public TreeVisitor {
 public:
  explicit LearnerVisitor(std::function<void(Learner::Config&)> change) : change_(std::move(change)) {}
  bool enter(const Path&, AnyConfig& config) override {
    auto* learner = dynamic_cast<Learner::Config*>(&config);
    if (learner == nullptr) return true;
    change_(*learner);
    found_ = true;
    return false;
  }
  bool found() const { return found_; }

 private:
  std::function<void(Learner::Config&)> change_;
  bool found_ = false;
};

void change_learner(AnyConfig& tree, const char* verb, std::function<void(Learner::Config&)> change) {
  LearnerVisitor visitor(std::move(change));
  walk(tree, visitor);
  if (visitor.found()) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("nothing to {}: the tree has no Learner", verb));
}

void change_optimizer(AnyConfig& tree, const char* verb, const std::function<void(Slot<Optimizer>&)>& change) {
  change_learner(tree, verb, [&](Learner::Config& learner) { change(learner.optimizer); });
}

OptimizerRule::Config rule_for(std::string path, const Slot<Optimizer>& optimizer) {
  OptimizerRule::Config rule;
  rule.path = std::move(path);
  rule.optimizer = optimizer;
  return rule;
}

constexpr const char* kAdapters = "\\.lora_[ab]$";

bool trains_adapters(const Slot<OptimizerRule>& rule) {
  const OptimizerRule::Config& config = rule.as<OptimizerRule>();
  return config.path.is_set() && *config.path == kAdapters && !config.optimizer.is<Frozen>();
}

}  // namespace

void Freeze::operator()(AnyConfig& tree) const {
  change_optimizer(tree, "freeze", [&](Slot<Optimizer>& optimizer) {
    OptimizerByPath::Config by_path;
    if (optimizer.is<OptimizerByPath>()) {
      by_path = optimizer.as<OptimizerByPath>();
    } else {
      by_path.otherwise = optimizer;
    }
    by_path.rules.insert(by_path.rules.begin(), rule_for(parameters, Frozen::Config{}));
    optimizer = by_path;
  });
}

void OffloadOptimizerState::check(Checker& c) const { OptimizerOffload{arrays}.check(c); }

void OffloadOptimizerState::operator()(AnyConfig& tree) const {
  change_learner(tree, "offload", [&](Learner::Config& learner) { learner.offload = OptimizerOffload{arrays}; });
}

void AddLoRA::check(Checker& c) const {
  c.positive("rank", rank);
  c.positive("alpha", alpha);
  check_rate(c, "dropout", dropout);
}

void AddLoRA::operator()(AnyConfig& tree) const {
  LoRA::Config adapter;
  adapter.rank = rank;
  adapter.alpha = alpha;
  adapter.dropout = dropout;
  wrap(tree, Dot::Config::static_type(), adapter, "dot", NoMatch::is_error, PathPattern(within));
  change_optimizer(tree, "train adapters with", [](Slot<Optimizer>& optimizer) {
    Slot<Optimizer> of_adapters = optimizer;
    if (optimizer.is<OptimizerByPath>()) {
      const OptimizerByPath::Config& several = optimizer.as<OptimizerByPath>();
      // Adapters that are there already: their rule has the new ones too.
      if (std::any_of(several.rules.begin(), several.rules.end(), trains_adapters)) return;
      of_adapters = several.otherwise;
    }
    if (of_adapters.is<Frozen>()) {
      throw Error(ErrorCode::invalid_argument, "nothing would train the adapters: the optimizer for the rest is Frozen")
          .hint("put AddLoRA before modifiers and rules that freeze parameters");
    }
    OptimizerByPath::Config by_path;
    by_path.rules = {rule_for(kAdapters, of_adapters)};
    by_path.otherwise = Frozen::Config{};
    optimizer = by_path;
  });
}

}  // namespace tenon
