#include "tenon/experiments/rule_lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "tenon/base/regex.h"
#include "tenon/base/text.h"
#include "tenon/config/text.h"
#include "tenon/data/dataset.h"
#include "tenon/trainer/trace_step.h"

namespace tenon {
namespace {

// Which machines expressions match; experiments share most expressions.
class Matcher {
 public:
  explicit Matcher(const std::vector<MachineType>& machines) : machines_(machines) {}

  const std::vector<bool>& matches(const std::string& instance) {
    const auto [it, is_new] = matches_.try_emplace(instance);
    if (is_new) {
      const Regex regex = Regex::compile(instance).value();
      for (const MachineType& machine : machines_) it->second.push_back(regex.matches(machine.instance));
    }
    return it->second;
  }
  // Of every machine the first rule that matches it, or -1.
  std::vector<int64_t> first(const std::vector<MeshRule>& rules) {
    std::vector<int64_t> out(machines_.size(), -1);
    for (size_t i = rules.size(); i-- > 0;) {
      const std::vector<bool>& matched = matches(*rules[i].instance);
      for (size_t m = 0; m < out.size(); ++m) {
        if (matched[m]) out[m] = static_cast<int64_t>(i);
      }
    }
    return out;
  }

 private:
  const std::vector<MachineType>& machines_;
  std::map<std::string, std::vector<bool>> matches_;
};

// Why a config can't run on so many devices; "" when it can. Only what can be told without tracing.
std::string misfit(const Trainer::Config& config, int64_t devices) {
  try {
    const int64_t groups = config.mesh.resolve(devices).shards(batch_partition().dims()[0]);
    const int64_t pieces = groups * config.accumulation, batch = config.data->batch_size.value();
    if (batch % pieces == 0) return "";
    return fmt::format("the batch of {} doesn't divide into {} pieces ({} over the mesh, {} microbatches)", batch,
                       pieces, groups, config.accumulation);
  } catch (const Error& e) {
    return e.what();
  }
}

class Linter {
 public:
  explicit Linter(const LintOptions& options) : options_(options), matcher_(options.machines) {}

  void lint(const RuleSubject& subject) {
    ++report_.experiments;
    const std::vector<MeshRule> rules = mesh_rules_of(*subject.experiment, subject.overrides);
    if (rules.empty()) return;
    subject_ = &subject;
    const Trainer::Config config = resolve(*subject.experiment, subject.overrides).config;
    const std::vector<int64_t> first = matcher_.first(rules);
    add_coverage(first);
    for (size_t i = 0; i < rules.size(); ++i) {
      rule_ = static_cast<int64_t>(i);
      instance_ = *rules[i].instance;
      std::vector<size_t> machines;  // that the rule is for
      for (size_t m = 0; m < first.size(); ++m) {
        if (first[m] == rule_) machines.push_back(m);
      }
      if (machines.empty()) add_unused(first);
      lint_modifiers(config, rules[i].modifiers, machines);
    }
  }
  RuleReport report() {
    report_.machines = static_cast<int64_t>(options_.machines.size());
    return std::move(report_);
  }

 private:
  void add(RuleFault fault, std::string message) {
    report_.findings.push_back({fault, subject_->name, rule_, instance_, std::move(message)});
  }

  void add_coverage(const std::vector<int64_t>& first) {
    RuleCoverage coverage{subject_->name, {}, {}};
    rule_ = -1;
    for (size_t m = 0; m < first.size(); ++m) {
      const MachineType& machine = options_.machines[m];
      if (machine.is_choice) continue;
      ChipCoverage& chip = coverage.chips[machine.chip];
      ++chip.machines;
      if (first[m] >= 0) {
        ++chip.covered;
        continue;
      }
      coverage.uncovered.push_back(machine.instance);
      instance_ = machine.instance;
      if (options_.strict) add(RuleFault::uncovered, "no rule is for it");
    }
    report_.coverage.push_back(std::move(coverage));
  }

  // Of a rule that is for no machine.
  void add_unused(const std::vector<int64_t>& first) {
    const std::vector<bool>& matched = matcher_.matches(instance_);
    std::set<int64_t> before;
    for (size_t m = 0; m < first.size(); ++m) {
      if (matched[m]) before.insert(first[m]);
    }
    if (before.empty()) return add(RuleFault::unreached, "it matches no type of machine that is known");
    std::vector<std::string> names;
    for (const int64_t rule : before) names.push_back(std::to_string(rule));
    add(RuleFault::shadowed,
        fmt::format("all {} types of machines that it matches are taken by rule{} {} before it",
                    std::count(matched.begin(), matched.end(), true), names.size() > 1 ? "s" : "", join(names, ", ")));
  }

  void lint_modifiers(Trainer::Config config, const std::vector<Modifier>& modifiers,
                      const std::vector<size_t>& machines) {
    try {
      modify(config, modifiers);
    } catch (const Error& e) {
      return add(RuleFault::fails, e.what());
    }
    std::vector<const MachineType*> fit;
    std::vector<std::string> others;
    std::string why;
    for (const size_t m : machines) {
      const MachineType& machine = options_.machines[m];
      const std::string reason = misfit(config, machine.devices);
      if (reason.empty()) {
        fit.push_back(&machine);
      } else {
        if (others.empty()) why = fmt::format("{} ({} devices): {}", machine.instance, machine.devices, reason);
        others.push_back(machine.instance);
      }
    }
    if (!others.empty()) {
      const std::string more = others.size() > 1 ? fmt::format("; and on {} more types", others.size() - 1) : "";
      add(RuleFault::misfit, "on " + why + more);
    }
    if (options_.trace && !fit.empty()) trace(config, *fit.front());
  }

  // Once for all that differs in what misfit() looks at alone: steps on other sizes of a machine are the same.
  void trace(const Trainer::Config& config, const MachineType& machine) {
    Trainer::Config key = config;
    key.mesh.data = key.mesh.fsdp = 1;
    key.accumulation = std::min<int64_t>(config.accumulation, 2);
    const auto [it, is_new] = traced_.try_emplace(to_toml(key));
    if (is_new) {
      try {
        trace_train_step(config, machine.devices);
      } catch (const Error& e) {
        it->second = e.what();
      }
    }
    if (!it->second.empty()) add(RuleFault::fails, fmt::format("on {}: {}", machine.instance, it->second));
  }

  const LintOptions& options_;
  Matcher matcher_;
  std::map<std::string, std::string> traced_;  // what was wrong with a config; "": nothing
  RuleReport report_;
  // What is looked at.
  const RuleSubject* subject_ = nullptr;
  int64_t rule_ = -1;
  std::string instance_;
};

}  // namespace

RuleReport lint_rules(const std::vector<RuleSubject>& subjects, const LintOptions& options) {
  Linter linter(options);
  for (const RuleSubject& subject : subjects) linter.lint(subject);
  return linter.report();
}

std::string list_rules(const RuleSubject& subject, const std::vector<MachineType>& machines) {
  const std::vector<MeshRule> rules = mesh_rules_of(*subject.experiment, subject.overrides);
  const Trainer::Config config = resolve(*subject.experiment, subject.overrides).config;
  std::vector<Trainer::Config> configs;
  for (const MeshRule& rule : rules) {
    configs.push_back(config);
    modify(configs.back(), rule.modifiers);
  }
  const std::vector<int64_t> first = Matcher(machines).first(rules);
  size_t width = 0;
  for (const MachineType& machine : machines) width = std::max(width, machine.instance.size());
  std::string text;
  for (size_t m = 0; m < machines.size(); ++m) {
    if (machines[m].is_choice && first[m] < 0) continue;
    text += fmt::format("{:<{}}  ", machines[m].instance, width);
    if (first[m] < 0) {
      text += "no rule\n";
      continue;
    }
    const Trainer::Config& chosen = configs[static_cast<size_t>(first[m])];
    const std::string reason = misfit(chosen, machines[m].devices);
    text += fmt::format("rule {}: ", first[m]);
    text += reason.empty()
                ? fmt::format("mesh {}, {} microbatch{}\n", to_string(chosen.mesh.resolve(machines[m].devices)),
                              chosen.accumulation, chosen.accumulation == 1 ? "" : "es")
                : reason + "\n";
  }
  return text;
}

}  // namespace tenon
