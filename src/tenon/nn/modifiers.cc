#include "tenon/nn/modifiers.h"

#include <fmt/format.h>

#include "tenon/config/define.h"
#include "tenon/config/modify.h"
#include "tenon/config/registry.h"
#include "tenon/config/tree.h"
#include "tenon/nn/dot/lora.h"

namespace tenon {

TENON_FN_TYPE(SetRemat, void(AnyConfig&), "what every module of a class keeps for the backward pass",
              {"module", "the class, or an interface"}, {"policy", "what is kept"})
TENON_FN_TYPE(SetPartitions, void(AnyConfig&), "how arrays are split over the mesh",
              {"specs", "by the path of the field; * in a part is any text, ** any number of parts"})
TENON_FN_TYPE(UseAttention, void(AnyConfig&), "how attention is computed", {"core", "takes the place of every one"},
              {"within", "only at paths that match this, and below"})
TENON_FN_TYPE(UseDot, void(AnyConfig&), "how the products of linear layers are computed",
              {"dot", "takes the place of every one"}, {"within", "only at paths that match this, and below"})

namespace {

class RematSetter : public TreeVisitor {
 public:
  RematSetter(const ConfigType& type, const RematPolicy& policy) : type_(type), policy_(policy) {}
  bool enter(const Path&, AnyConfig& config) override {
    if (auto* module = dynamic_cast<Module::Config*>(&config); module != nullptr && config.type().is_a(type_)) {
      module->remat = policy_;
      ++count_;
    }
    return true;
  }
  int64_t count() const { return count_; }

 private:
  const ConfigType& type_;
  const RematPolicy& policy_;
  int64_t count_ = 0;
};

class SpecSetter : public TreeVisitor {
 public:
  explicit SpecSetter(const std::map<std::string, PartitionSpec>& specs) {
    for (const auto& [text, spec] : specs) rules_.push_back({text, PathPattern(text), spec});
  }
  bool value(const Path& path, const ValueRef& value) override {
    if (value.type->cpp_type() != typeid(PartitionSpec)) return true;
    const Rule* matched = nullptr;
    for (Rule& rule : rules_) {
      if (!rule.pattern.matches(path)) continue;
      if (matched != nullptr) {
        throw Error(ErrorCode::invalid_argument, "two patterns match one partition spec")
            .at(format_path(path))
            .got(quote(matched->text) + " and " + quote(rule.text));
      }
      matched = &rule;
      rule.used = true;
    }
    if (matched != nullptr) value.type->assign(value.data, &matched->spec);
    return true;
  }
  void require_all_used() const {
    for (const Rule& rule : rules_) {
      if (rule.used) continue;
      throw Error(ErrorCode::invalid_argument, "no partition spec's path matches").got(quote(rule.text));
    }
  }

 private:
  struct Rule {
    std::string text;
    PathPattern pattern;
    const PartitionSpec& spec;
    bool used = false;
  };
  std::vector<Rule> rules_;
};

}  // namespace

void SetRemat::check(Checker& c) const { c.require(policy.has_value(), "policy", "must be set"); }

void SetRemat::operator()(AnyConfig& tree) const {
  RematSetter setter(Registry::global().class_type(module), policy);
  walk(tree, setter);
  if (setter.count() == 0) throw Error(ErrorCode::invalid_argument, "the tree has no module " + module);
}

void SetPartitions::check(Checker& c) const { c.require(!specs.empty(), "specs", "must name a field"); }

void SetPartitions::operator()(AnyConfig& tree) const {
  SpecSetter setter(specs);
  walk(tree, setter);
  setter.require_all_used();
}

void UseAttention::operator()(AnyConfig& tree) const {
  replace(tree, AttentionCore::Config::static_type(), core.get(), NoMatch::is_error, PathPattern(within));
}

void UseDot::operator()(AnyConfig& tree) const {
  replace(tree, Dot::Config::static_type(), dot.get(), NoMatch::is_error, PathPattern(within),
          &LoRA::Config::static_type());
}

}  // namespace tenon
