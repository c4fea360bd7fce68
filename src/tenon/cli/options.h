// What commands about an experiment share: their options, and how these become a config.
#pragma once

#include <string>
#include <vector>

#include "tenon/experiments/resolve.h"

namespace tenon {

struct Command;

struct ExperimentOptions {
  std::string experiment;
  Overrides overrides;
  std::vector<std::string> plugins;
};

// The experiment and everything laid over it.
void add_experiment_options(Command& command, ExperimentOptions& options);
// The same without the experiment's name.
void add_override_options(Command& command, ExperimentOptions& options);
void add_plugin_option(Command& command, std::vector<std::string>& plugins);

// Lets each add to the global registries, once a process however often it is named.
void load_plugins(const std::vector<std::string>& paths);
// The experiments there are, those of plug-ins that were loaded among them.
const ExperimentRegistry& experiments();
// Loads the plug-ins, resolves, and prints on stderr what mesh rule and modifiers did.
Trainer::Config resolve_config(ExperimentOptions options);

}  // namespace tenon
