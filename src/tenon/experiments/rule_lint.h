// Faults of mesh rules: found by holding them against all types of machines that are known, without a compiler.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tenon/experiments/machine_types.h"
#include "tenon/experiments/resolve.h"

namespace tenon {

// An experiment, or a file based on one, whose rules are looked at.
struct RuleSubject {
  std::string name;
  const Experiment* experiment = nullptr;
  Overrides overrides = {};
};

enum class RuleFault : uint8_t {
  shadowed,   // every type of machine that it matches is matched by rules before it
  unreached,  // it matches no type of machine that is known
  misfit,     // its mesh doesn't have the devices of a machine that it is for, or the batch doesn't divide over it
  fails,      // its modifiers match nothing, or the training step can't be traced with them: a tag that isn't there, …
  uncovered,  // no rule is for a type of machine; a fault only where that is asked for
};
TENON_ENUM(RuleFault, shadowed, unreached, misfit, fails, uncovered)

struct RuleFinding {
  RuleFault fault{};
  std::string experiment;
  int64_t rule = -1;     // none: of the experiment
  std::string instance;  // the rule's expression, or a type of machine
  std::string message;   // what is wrong, without all this
};

// How many types of machines with a chip there are, and how many of them have a rule.
struct ChipCoverage {
  int64_t covered = 0, machines = 0;
};
struct RuleCoverage {
  std::string experiment;
  std::map<std::string, ChipCoverage> chips;
  std::vector<std::string> uncovered;  // types of machines without a rule
};

struct RuleReport {
  int64_t experiments = 0;  // all that were looked at
  int64_t machines = 0;
  std::vector<RuleFinding> findings;
  std::vector<RuleCoverage> coverage;  // of the experiments that have rules
};

struct LintOptions {
  std::vector<MachineType> machines = builtin_machine_types();
  // Whether a type of machine without a rule is a fault, of experiments that have rules.
  bool strict = false;
  // Whether the training step is traced with every rule.
  bool trace = true;
};

// Throws as resolve() does for an experiment that isn't one even without its rules.
RuleReport lint_rules(const std::vector<RuleSubject>& subjects, const LintOptions& options = {});

// For people: the findings, the types of machines without a rule, and a table of experiments by chips.
std::string to_string(const RuleReport& report);
// {"experiments", "machines", "findings": [{"fault", "experiment", "rule", "instance", "message"}], "coverage":
// {EXPERIMENT: {"chips": {CHIP: {"covered", "machines"}}, "uncovered": [TYPE]}}}; "rule" is null where there is none.
std::string rules_json(const RuleReport& report);

// A line for every type of machine: the rule that is for it, its mesh and microbatches.
std::string list_rules(const RuleSubject& subject, const std::vector<MachineType>& machines = builtin_machine_types());

}  // namespace tenon
