// What commands about an experiment share: their options, and how these become a config.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/experiments/resolve.h"

namespace CLI {
class App;
}

namespace tenon {

struct ExperimentOptions {
  std::string experiment;
  Overrides overrides;
  std::vector<std::string> plugins;
};

// The experiment and everything laid over it.
void add_experiment_options(CLI::App& app, ExperimentOptions& options);
// The same without the experiment's name.
void add_override_options(CLI::App& app, ExperimentOptions& options);
void add_plugin_option(CLI::App& app, std::vector<std::string>& plugins);

// Lets each add to the global registries, once a process however often it is named.
void load_plugins(const std::vector<std::string>& paths);
// The experiments there are, those of plug-ins that were loaded among them.
const ExperimentRegistry& experiments();
// Loads the plug-ins, resolves, and prints on stderr what mesh rule and modifiers did.
Trainer::Config resolve_config(ExperimentOptions options);

// Throws `io` when standard output can't be written.
void print_text(std::string_view text);

}  // namespace tenon
