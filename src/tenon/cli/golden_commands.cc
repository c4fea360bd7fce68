#include <fmt/format.h>

#include <memory>

#include "tenon/cli/command_line.h"
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

void add_golden_commands(Command& program) {
  const auto o = std::make_shared<GoldenOptions>();
  Command& golden = program.add("golden", "keeps what experiments come to as text, to see what changes");
  const auto add = [&](const char* name, const char* doc, void (*what)(const GoldenOptions&)) {
    Command& command = golden.add(name, doc);
    command.option("experiment", &o->names, "names, or TOML files with a base; none: all there are");
    command.option("--dir", &o->dir, "where NAME.golden are").with_default();
    add_plugin_option(command, o->plugins);
    command.action = [o, what] { what(*o); };
  };
  add("check", "compares; exits with 2 when one differs", check);
  add("update", "writes those that differ, and sums up what changed", update);
}

}  // namespace tenon
