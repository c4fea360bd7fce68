#include "tenon/trainer/modifiers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenon/base/text.h"
#include "tenon/config/config_type.h"
#include "tenon/config/define.h"
#include "tenon/config/path_pattern.h"
#include "tenon/config/tree.h"
#include "tenon/data/dataset.h"
#include "tenon/nn/module.h"
#include "tenon/optim/learner.h"
#include "tenon/trainer/trainer.h"

namespace tenon {

TENON_FN_TYPE(SetMesh, void(AnyConfig&), "how devices are arranged", {"mesh", "all axes"})
TENON_FN_TYPE(SetXlaFlags, void(AnyConfig&), "adds flags of the compiler", {"flags", "values by name without dashes"})
TENON_FN_TYPE(AccumulateGradients, void(AnyConfig&), "splits every batch into microbatches", {"steps", "how many"})
TENON_FN_TYPE(ShardOptimizerOnly, void(AnyConfig&),
              "parameters whole on every device, what the optimizer keeps split over 'fsdp' (ZeRO-1)")
TENON_FN_TYPE(ScaleBatch, void(AnyConfig&), "multiplies the batch size", {"factor", "by so much"})
TENON_FN_TYPE(SetPrecision, void(AnyConfig&), "dtypes of what is computed and kept",
              {"compute", "in which modules compute, by their path; * in a part is any text, ** any number of parts"},
              {"params", "in which their parameters are stored, likewise"},
              {"learner_state", "of what the learner keeps, by a regular expression: learner.state_dtypes"})

namespace {

Trainer::Config& trainer_of(AnyConfig& tree) {
  if (auto* trainer = dynamic_cast<Trainer::Config*>(&tree)) return *trainer;
  throw Error(ErrorCode::wrong_type, "the modifier is for a whole training")
      .got(std::string(tree.type().name()))
      .expected("a Trainer");
}

class PrecisionSetter : public TreeVisitor {
 public:
  PrecisionSetter(const std::map<std::string, DType>& dtypes, std::optional<DType> Module::Config::* field)
      : field_(field) {
    for (const auto& [text, dtype] : dtypes) rules_.push_back({text, PathPattern(text), dtype});
  }
  bool enter(const Path& path, AnyConfig& config) override {
    auto* module = dynamic_cast<Module::Config*>(&config);
    if (module == nullptr) return true;
    const Rule* matched = nullptr;
    for (Rule& rule : rules_) {
      if (!rule.pattern.matches(path)) continue;
      if (matched != nullptr) {
        throw Error(ErrorCode::invalid_argument, "two patterns match one module")
            .at(format_path(path))
            .got(quote_text(matched->text) + " and " + quote_text(rule.text));
      }
      matched = &rule;
      rule.used = true;
    }
    if (matched != nullptr) module->*field_ = matched->dtype;
    return true;
  }
  void require_all_used() const {
    for (const Rule& rule : rules_) {
      if (!rule.used) {
        throw Error(ErrorCode::invalid_argument, "no module's path matches").got(quote_text(rule.text));
      }
    }
  }

 private:
  struct Rule {
    std::string text;
    PathPattern pattern;
    DType dtype;
    bool used = false;
  };
  std::optional<DType> Module::Config::* field_;
  std::vector<Rule> rules_;
};

// Takes an axis out of the partition specs of weights.
class WeightGatherer : public TreeVisitor {
 public:
  explicit WeightGatherer(std::string axis) : axis_(std::move(axis)) {}
  bool value(const Path& path, const ValueRef& value) override {
    const bool of_weight = !path.empty() && (path.back() == "weight_partition" || path.back() == "down_partition");
    if (value.type->cpp_type() != typeid(PartitionSpec) || !of_weight) return true;
    std::vector<Axis> dims = static_cast<const PartitionSpec*>(value.data)->dims();
    for (Axis& dim : dims) std::erase(dim.names, axis_);
    const PartitionSpec spec(std::move(dims));
    value.type->assign(value.data, &spec);
    ++count_;
    return true;
  }
  int64_t count() const { return count_; }

 private:
  std::string axis_;
  int64_t count_ = 0;
};

void set_dtypes(AnyConfig& tree, const std::map<std::string, DType>& dtypes,
                std::optional<DType> Module::Config::* field) {
  PrecisionSetter setter(dtypes, field);
  walk(tree, setter);
  setter.require_all_used();
}

}  // namespace

void SetPrecision::check(Checker& c) const {
  c.require(!compute.empty() || !params.empty() || !learner_state.empty(), "compute",
            "must name a module, where params and learner_state name nothing");
}

void SetPrecision::operator()(AnyConfig& tree) const {
  set_dtypes(tree, compute, &Module::Config::compute_dtype);
  set_dtypes(tree, params, &Module::Config::param_dtype);
  if (!learner_state.empty()) trainer_of(tree).learner.as<Learner>().state_dtypes = learner_state;
}

void SetMesh::operator()(AnyConfig& tree) const { trainer_of(tree).mesh = mesh; }

void AccumulateGradients::check(Checker& c) const { c.positive("steps", steps); }
void AccumulateGradients::operator()(AnyConfig& tree) const { trainer_of(tree).accumulation = steps; }

void SetXlaFlags::check(Checker& c) const { c.require(!flags.empty(), "flags", "must name a flag"); }
void SetXlaFlags::operator()(AnyConfig& tree) const {
  for (const auto& [name, value] : flags) trainer_of(tree).xla_flags[name] = value;
}

void ShardOptimizerOnly::operator()(AnyConfig& tree) const {
  constexpr const char* kFsdp = "fsdp";
  WeightGatherer gatherer(kFsdp);
  walk(tree, gatherer);
  if (gatherer.count() == 0) {
    throw Error(ErrorCode::invalid_argument, "the tree has no weights with a partition spec");
  }
  std::vector<std::string>& axes = trainer_of(tree).optimizer_axes;
  if (std::find(axes.begin(), axes.end(), kFsdp) == axes.end()) axes.emplace_back(kFsdp);
}

void ScaleBatch::check(Checker& c) const { c.positive("factor", factor); }

void ScaleBatch::operator()(AnyConfig& tree) const {
  Dataset::Config& data = *trainer_of(tree).data.operator->();
  const double scaled = factor * static_cast<double>(data.batch_size.value());
  if (!(scaled >= 1 && scaled < 1e15) || scaled != std::floor(scaled)) {
    throw Error(ErrorCode::invalid_argument, "the scaled batch isn't a whole number of examples")
        .at("data.batch_size")
        .got(fmt::format("{} * {}", factor, data.batch_size.value()));
  }
  data.batch_size = static_cast<int64_t>(scaled);
}

}  // namespace tenon
