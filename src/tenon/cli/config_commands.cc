#include "tenon/cli/config_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tenon/cli/command_line.h"
#include "tenon/cli/options.h"
#include "tenon/config/inspect.h"
#include "tenon/config/registry.h"
#include "tenon/config/text.h"

namespace tenon {
namespace {

struct ConfigOptions {
  ExperimentOptions shown;
  std::string other, type, pattern;
  bool diff_from_default = false;
};
using Options = std::shared_ptr<ConfigOptions>;

// The experiment's function and what it is called with, or its mesh rules. All that was given is tried first.
template <class F>
void print_recipe(ExperimentOptions options, F to_text) {
  resolve_config(options);
  const Experiment& experiment = find_experiment(experiments(), options.experiment, options.overrides);
  print_text(to_text(experiment, options.overrides));
}

void print_list(const ExperimentOptions& options) {
  load_plugins(options.plugins);
  const std::vector<const Experiment*> all = experiments().all();
  size_t width = 0;
  for (const Experiment* e : all) width = std::max(width, e->name.size());
  std::string text;
  for (const Experiment* e : all) text += fmt::format("{:<{}}  {}\n", e->name, width, e->description);
  print_text(text);
}

void print_config(const ConfigOptions& options) {
  const Trainer::Config config = resolve_config(options.shown);
  print_text(options.diff_from_default ? to_string(lines_off_default(config)) : to_toml(config));
}

void print_diff(const ConfigOptions& options) {
  ExperimentOptions other = options.shown;
  other.experiment = options.other;
  const Trainer::Config before = resolve_config(options.shown);
  std::string text;
  for (const Difference& d : diff(before, resolve_config(other))) text += to_string(d) + "\n";
  print_text(text);
}

void print_doc(const ConfigOptions& options) {
  load_plugins(options.shown.plugins);
  const Registry& registry = Registry::global();
  print_text(options.type.empty() ? list_types(registry) : describe_type(registry, options.type));
}

// In one experiment, or in all, whose names then stand before the lines.
void print_found(const ConfigOptions& options) {
  if (!options.shown.experiment.empty()) {
    return print_text(to_string(find_lines(resolve_config(options.shown), options.pattern)));
  }
  load_plugins(options.shown.plugins);
  std::string text;
  for (const Experiment* e : experiments().all()) {
    const Trainer::Config config = resolve(*e, options.shown.overrides).config;
    for (const TextLine& line : find_lines(config, options.pattern)) {
      text += fmt::format("{}: {} = {}\n", e->name, line.path, line.value);
    }
  }
  print_text(text);
}

// A command that resolves an experiment and shows something of it.
Command& add_shown(Command& config, const char* name, const char* doc, const Options& o, std::function<void()> action) {
  Command& command = config.add(name, doc);
  add_experiment_options(command, o->shown);
  command.action = std::move(action);
  return command;
}

void add_list(Command& config, const Options& o) {
  Command& command = config.add("list", "all experiments");
  add_plugin_option(command, o->shown.plugins);
  command.action = [o] { print_list(o->shown); };
}

void add_diff(Command& config, const Options& o) {
  Command& command = config.add("diff", "what differs between two experiments");
  command.option("experiment", &o->shown.experiment, "name, or a TOML file with a base").required();
  command.option("other", &o->other, "another; what is laid over the first is laid over it too").required();
  add_override_options(command, o->shown);
  command.action = [o] { print_diff(*o); };
}

void add_find(Command& config, const Options& o) {
  Command& command = config.add("find", "the fields whose path or value matches");
  command
      .option("pattern", &o->pattern,
              "part of a path or value; or a path, in which * is any text in a part and ** any number of parts")
      .required();
  command.option("experiment", &o->shown.experiment, "where to look; without it, in all");
  add_override_options(command, o->shown);
  command.action = [o] { print_found(*o); };
}

void add_doc(Command& config, const Options& o) {
  Command& command = config.add("doc", "what a class or function is, and its fields");
  command.option("type", &o->type, "its name; without it, all are listed");
  add_plugin_option(command, o->shown.plugins);
  command.action = [o] { print_doc(*o); };
}

}  // namespace

void add_config_commands(Command& program) {
  const auto o = std::make_shared<ConfigOptions>();
  Command& config = program.add("config", "shows experiments and their configs");
  add_list(config, o);
  add_shown(config, "args", "what an experiment's config is computed from, as TOML", o,
            [o] { print_recipe(o->shown, arguments_to_toml); });
  add_shown(config, "rules", "what changes with the machine, as TOML", o,
            [o] { print_recipe(o->shown, mesh_rules_to_toml); });
  add_shown(config, "show", "the whole config of an experiment, as TOML", o, [o] {
    print_config(*o);
  }).option("--diff_from_default", &o->diff_from_default, "only what the defaults of its classes don't give");
  add_shown(config, "tree", "the classes of an experiment's config", o,
            [o] { print_text(format_tree(resolve_config(o->shown))); });
  add_diff(config, o);
  add_find(config, o);
  add_doc(config, o);
}

}  // namespace tenon
