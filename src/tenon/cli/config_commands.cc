#include "tenon/cli/config_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "tenon/cli/options.h"
#include "tenon/config/inspect.h"
#include "tenon/config/registry.h"
#include "tenon/config/text.h"

namespace tenon {
namespace {

using Action = std::function<void()>;

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

CLI::App* add(CLI::App& parent, const char* name, const char* doc, Action& action, Action what) {
  CLI::App* command = parent.add_subcommand(name, doc);
  command->callback([&action, what = std::move(what)] { action = what; });
  return command;
}

}  // namespace

void add_config_commands(CLI::App& app, Action& action) {
  const auto o = std::make_shared<ConfigOptions>();
  CLI::App& config = *app.add_subcommand("config", "shows experiments and their configs");
  config.require_subcommand(1)->footer(app.get_footer());
  CLI::App* list = add(config, "list", "all experiments", action, [o] { print_list(o->shown); });
  add_plugin_option(*list, o->shown.plugins);
  add_experiment_options(*add(config, "args", "what an experiment's config is computed from, as TOML", action,
                              [o] { print_recipe(o->shown, arguments_to_toml); }),
                         o->shown);
  add_experiment_options(*add(config, "rules", "what changes with the machine, as TOML", action,
                              [o] { print_recipe(o->shown, mesh_rules_to_toml); }),
                         o->shown);
  CLI::App* show = add(config, "show", "the whole config of an experiment, as TOML", action, [o] { print_config(*o); });
  add_experiment_options(*show, o->shown);
  show->add_flag("--diff_from_default", o->diff_from_default, "only what the defaults of its classes don't give");
  add_experiment_options(*add(config, "tree", "the classes of an experiment's config", action,
                              [o] { print_text(format_tree(resolve_config(o->shown))); }),
                         o->shown);
  CLI::App* difference = add(config, "diff", "what differs between two experiments", action, [o] { print_diff(*o); });
  difference->add_option("experiment", o->shown.experiment, "name, or a TOML file with a base")->required();
  difference->add_option("other", o->other, "another; what is laid over the first is laid over it too")->required();
  add_override_options(*difference, o->shown);
  CLI::App* found = add(config, "find", "the fields whose path or value matches", action, [o] { print_found(*o); });
  found
      ->add_option("pattern", o->pattern,
                   "part of a path or value; or a path, in which * is any text in a part and ** "
                   "any number of parts")
      ->required();
  found->add_option("experiment", o->shown.experiment, "where to look; without it, in all");
  add_override_options(*found, o->shown);
  CLI::App* doc = add(config, "doc", "what a class or function is, and its fields", action, [o] { print_doc(*o); });
  doc->add_option("type", o->type, "its name; without it, all are listed");
  add_plugin_option(*doc, o->shown.plugins);
}

}  // namespace tenon
