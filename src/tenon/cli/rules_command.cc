#include "tenon/cli/rules_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "tenon/base/file.h"
#include "tenon/cli/command_line.h"
#include "tenon/cli/options.h"
#include "tenon/experiments/overlay_file.h"
#include "tenon/experiments/rule_lint.h"

namespace tenon {
namespace {

struct RulesCommand {
  std::vector<std::string> names, plugins;
  std::string name;
  std::optional<std::string> machines;
  bool json = false, strict = false;
};

RuleSubject subject(const std::string& name) {
  // A file by its own name, without what it ends in.
  RuleSubject out{.name = is_overlay_file(name) ? std::filesystem::path(name).stem().string() : name};
  out.experiment = &find_experiment(experiments(), name, out.overrides);
  return out;
}

// Those of the file take the place of known ones of the same name.
std::vector<MachineType> machines(const RulesCommand& command) {
  std::vector<MachineType> out = builtin_machine_types();
  if (!command.machines) return out;
  for (const MachineType& machine :
       parse_machine_types(read_file(*command.machines).value(), *command.machines).value()) {
    std::erase_if(out, [&](const MachineType& known) { return known.instance == machine.instance; });
    out.push_back(machine);
  }
  return out;
}

void lint(const RulesCommand& command) {
  load_plugins(command.plugins);
  std::vector<RuleSubject> subjects;
  for (const std::string& name : command.names) subjects.push_back(subject(name));
  if (subjects.empty()) {
    for (const Experiment* e : experiments().all()) subjects.push_back({e->name, e});
  }
  const RuleReport report = lint_rules(subjects, {.machines = machines(command), .strict = command.strict});
  print_text(command.json ? rules_json(report) + "\n" : to_string(report));
  if (report.findings.empty()) return;
  throw Error(ErrorCode::invalid_argument, "mesh rules have faults").got(std::to_string(report.findings.size()));
}

void list(const RulesCommand& command) {
  load_plugins(command.plugins);
  print_text(list_rules(subject(command.name), machines(command)));
}

}  // namespace

void add_rules_command(Command& program) {
  const auto c = std::make_shared<RulesCommand>();
  Command& rules = program.add("rules", "looks at mesh rules: what changes with the machine");
  const auto add = [&](const char* name, const char* doc) -> Command& {
    Command& command = rules.add(name, doc);
    command
        .option("--machines", &c->machines, "more types of machines, as in the table of machines (docs/experiments.md)")
        .type_name("FILE");
    add_plugin_option(command, c->plugins);
    return command;
  };
  Command& linting = add("lint", "finds rules that are never used or can't work; exits with 2 when there are any");
  linting.option("experiment", &c->names, "names, or TOML files with a base; none: all there are");
  linting.option("--strict", &c->strict, "a type of machine that no rule is for is a fault too");
  linting.option("--json", &c->json, "prints JSON");
  linting.action = [c] { lint(*c); };
  Command& listing = add("list", "which rule is for which type of machine, and its mesh");
  listing.option("experiment", &c->name, "name of the experiment, or a TOML file with a base").required();
  listing.action = [c] { list(*c); };
}

}  // namespace tenon
