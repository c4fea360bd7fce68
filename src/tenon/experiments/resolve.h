// From an experiment's name, files, machine and settings to the config that is run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/experiments/experiment.h"
#include "tenon/runtime/chips.h"

namespace tenon {

// What a user lays over an experiment. Paths that begin with "args." are the experiment's arguments, those with
// "mesh_rules." its mesh rules, others are fields of its config. In a file, `modifiers = [...]` are applied before its
// fields, and `base` names what the file stands on (overlay_file.h).
struct Overrides {
  std::vector<std::string> files = {};        // TOML
  std::vector<std::string> assignments = {};  // "path=value"
  std::optional<std::string> instance = {};   // the machine's type, for the mesh rules
  std::vector<std::string> modifiers = {};    // "NAME" or "NAME{field = value, …}"
  // The description of the machine's devices, if there is one: its mesh rules are asked last (device_rules.h).
  std::shared_ptr<const Chip> device = {};
};

struct Resolved {
  Trainer::Config config;
  // For people: which mesh rule matched, and what every modifier changed. Empty when there was neither.
  std::string report;
};

// First the arguments and mesh rules are set, from files and then from assignments; the experiment is called with the
// arguments, and its own modifiers are applied. Over its config go each file's modifiers and fields; then the mesh rule
// that matches `instance`, the first of the experiment's or, when there is none, of the device's; the modifiers, and
// last the other assignments, each in the order given. The config knows nothing of all this. Throws what reading files,
// setting fields and modifiers throw: `unknown_name` with the nearest names, `wrong_type`, `missing_field` for what an
// argument, mesh rule or modifier lacks, `invalid_argument` from checks and from modifiers that match nothing.
Resolved resolve(const Experiment& experiment, const Overrides& overrides);

// The experiment called `name`, or, when that is a TOML file, the one it is based on: the file then comes first in
// `overrides.files`. Throws `unknown_name`, and `missing_field` for a file that names no experiment.
const Experiment& find_experiment(const ExperimentRegistry& registry, const std::string& name, Overrides& overrides);

// The arguments resolve() would call the experiment with: sorted lines "args.max_steps = 20  # what it is", a TOML file
// that gives them again.
std::string arguments_to_toml(const Experiment& experiment, const Overrides& overrides);
// The mesh rules it would choose among. Throws as resolve() does for what leads to them.
std::vector<MeshRule> mesh_rules_of(const Experiment& experiment, const Overrides& overrides);
// Its mesh rules in the same way, lines "mesh_rules.0.instance = …"; "" when it has none.
std::string mesh_rules_to_toml(const Experiment& experiment, const Overrides& overrides);
// A line for each rule, `mesh_rules.0.instance`, and for each of its modifiers, `mesh_rules.0.0.SetMesh`.
std::vector<TextLine> mesh_rule_lines(const Experiment& experiment, const Overrides& overrides);

// A modifier from "NAME" or "NAME{field = value, …}". Errors are at the option it was given with.
Modifier parse_modifier(const std::string& text, const std::string& option = "--modify");

}  // namespace tenon
