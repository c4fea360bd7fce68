#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "tenon/cli/config_commands.h"
#include "tenon/cli/options.h"
#include "tenon/experiments/golden.h"

namespace tenon {
namespace {

struct GoldenOptions {
  std::string dir = "golden";
  std::vector<std::string> names, plugins;
};

std::vector<GoldenSubject> subjects(const GoldenOptions& options) {
  load_plugins(options.plugins);
  std::vector<GoldenSubject> out;
  for (const std::string& name : options.names) out.push_back(golden_subject(experiments(), name));
  if (!out.empty()) return out;
  for (const Experiment* e : experiments().all()) out.push_back({e->name, e});
  return out;
}

void check(const GoldenOptions& options) {
  const GoldenReport report = check_goldens(options.dir, subjects(options));
  print_text(to_string(report));
  if (report.changed.empty()) return;
  throw Error(ErrorCode::invalid_argument, "experiments differ from their goldens")
      .at(options.dir)
      .got(fmt::format("{} of {}", report.changed.size(), report.checked))
      .hint("`tenon golden update` accepts what is now");
}

void update(const GoldenOptions& options) { print_text(to_string(update_goldens(options.dir, subjects(options)))); }

}  // namespace

void add_golden_commands(CLI::App& app, std::function<void()>& action) {
  const auto o = std::make_shared<GoldenOptions>();
  CLI::App& golden = *app.add_subcommand("golden", "keeps what experiments come to as text, to see what changes");
  golden.require_subcommand(1)->footer(app.get_footer());
  const auto add = [&](const char* name, const char* doc, void (*what)(const GoldenOptions&)) {
    CLI::App* command = golden.add_subcommand(name, doc);
    command->footer(app.get_footer());
    command->add_option("experiment", o->names, "names, or TOML files with a base; none: all there are");
    command->add_option("--dir", o->dir, "where NAME.golden are")->capture_default_str();
    add_plugin_option(*command, o->plugins);
    command->callback([&action, o, what] { action = [o, what] { what(*o); }; });
  };
  add("check", "compares; exits with 2 when one differs", check);
  add("update", "writes those that differ, and sums up what changed", update);
}

}  // namespace tenon
