// From an experiment's name, files and settings to the config that is run.
#pragma once

#include <string>
#include <vector>

#include "tenon/experiments/experiment.h"

namespace tenon {

// What a user lays over an experiment. Paths that begin with "args." are the experiment's arguments, others are fields
// of its config.
struct Overrides {
  std::vector<std::string> files;        // TOML
  std::vector<std::string> assignments;  // "path=value"
};

// First the arguments are set, from files and then from assignments; the experiment is called with them; then what else
// the files say is laid over its config, and last the other assignments, each in the order given. The result knows
// nothing of the arguments. Throws what reading files and setting fields throw: `unknown_name` with the nearest names,
// `wrong_type`, `invalid_argument` from checks.
Trainer::Config resolve(const Experiment& experiment, const Overrides& overrides);

// The arguments resolve() would call the experiment with: sorted lines "args.max_steps = 20  # what it is", a TOML file
// that gives them again.
std::string arguments_to_toml(const Experiment& experiment, const Overrides& overrides);

}  // namespace tenon
