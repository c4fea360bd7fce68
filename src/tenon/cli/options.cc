#include "tenon/cli/options.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "tenon/base/plugin_library.h"
#include "tenon/cli/command_line.h"
#include "tenon/config/registry.h"

namespace tenon {
namespace {

constexpr const char* kOrder =
    "Order: first what begins with `args.` or `mesh_rules.`, in files and then in --set: the arguments that an\n"
    "       experiment's config is computed from (`tenon config args EXPERIMENT`), and what changes with the machine;\n"
    "       over that config go the files, the mesh rule that matches --instance, --modify, then --set.\n";

}  // namespace

void add_plugin_option(Command& command, std::vector<std::string>& plugins) {
  command
      .option("--plugin", &plugins, "shared library that adds modules, modifiers and experiments; may be given again")
      .type_name("FILE");
}

void add_override_options(Command& command, ExperimentOptions& o) {
  command.footer = kOrder + command.footer;
  command.option("--config", &o.overrides.files, "TOML file laid over the experiment; may be given again")
      .type_name("FILE");
  command.option("--instance", &o.overrides.instance, "type of the machine, as tpu-v5p-512: picks the mesh rule");
  command.option("--modify", &o.overrides.modifiers, "applies a modifier, after the mesh rule; may be given again")
      .type_name("NAME{FIELD = VALUE, ...}");
  command.option("--set", &o.overrides.assignments, "sets one field, after all else; may be given again")
      .type_name("PATH=VALUE");
  add_plugin_option(command, o.plugins);
}

void add_experiment_options(Command& command, ExperimentOptions& o) {
  command
      .option("experiment", &o.experiment, "name of the experiment (`tenon config list`), or a TOML file with a base")
      .required();
  add_override_options(command, o);
}

// A plug-in exports `extern "C" void tenon_plugin(tenon::Registry&)`.
void load_plugins(const std::vector<std::string>& paths) {
  static std::set<std::string> loaded;
  for (const std::string& path : paths) {
    std::error_code unknown;
    const std::filesystem::path whole = std::filesystem::weakly_canonical(path, unknown);
    if (!loaded.insert(unknown ? path : whole.string()).second) continue;
    const auto add = reinterpret_cast<void (*)(Registry&)>(load_plugin_library(path, "tenon_plugin"));
    add(Registry::global());
  }
}

const ExperimentRegistry& experiments() {
  static const bool registered = [] {
    register_experiments(ExperimentRegistry::global());
    return true;
  }();
  (void)registered;
  return ExperimentRegistry::global();
}

Trainer::Config resolve_config(ExperimentOptions options) {
  load_plugins(options.plugins);
  const Experiment& experiment = find_experiment(experiments(), options.experiment, options.overrides);
  Resolved resolved = resolve(experiment, options.overrides);
  if (!resolved.report.empty()) fmt::print(stderr, "{}", resolved.report);
  return std::move(resolved.config);
}

}  // namespace tenon
