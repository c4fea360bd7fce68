#include "tenon/cli/backend_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tenon/cli/command_line.h"
#include "tenon/cli/options.h"
#include "tenon/conformance/backend_check.h"
#include "tenon/runtime/aot.h"

namespace tenon {
namespace {

struct BackendCommand {
  std::optional<std::string> plugin, device, target;
  BackendCheckOptions options;
  bool json = false;
};

CheckSubject subject_of(const BackendCommand& command) {
  if (!command.plugin && !command.device) {
    throw Error(ErrorCode::invalid_argument, "there is nothing to check")
        .hint("name the plugin's file or platform, or --device");
  }
  if (command.plugin && command.plugin->empty()) throw Error(ErrorCode::invalid_argument, "the plugin's name is empty");
  CheckSubject subject;
  if (command.plugin) subject = CheckSubject::parse(*command.plugin);
  if (command.device) subject.device = std::make_shared<const Chip>(find_device(*command.device));
  if (command.target) {
    subject.target = *command.target;
    const ChipTable& known = ChipTable::builtin();
    AotTarget::parse(subject.target, subject.device ? known.with(*subject.device) : known);
  }
  return subject;
}

// After all is printed, throws `plugin` when something that is needed doesn't work.
void check(const BackendCommand& command) {
  BackendCheckOptions options = command.options;
  options.subject = subject_of(command);
  const auto progress = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const BackendReport report = check_backend(options, progress);
  print_text(command.json ? backend_json(report) + "\n" : format_backend(report));
  if (report.works()) return;
  if (report.machine.empty()) {
    throw Error(ErrorCode::plugin, "nothing can be compiled with the plugin here").at(report.plugin);
  }
  throw Error(ErrorCode::plugin, "something that is needed doesn't work, as the report says").at(report.plugin);
}

}  // namespace

void add_backend_command(Command& program) {
  Command& backend = program.add("backend", "about PJRT plugins");
  const auto c = std::make_shared<BackendCommand>();
  Command& command = backend.add("check", "says what of a PJRT plugin works, op by op");
  command.option("plugin", &c->plugin, "the plugin's file, or cpu, cuda, tpu or rocm for the one that is installed");
  command
      .option("--device", &c->device,
              "what the plugin's devices are, and how it takes them: a TOML file (docs/backends.md), or a name as trn2")
      .type_name("FILE");
  command.option("--target", &c->target,
                 "compile for this machine, as in `tenon aot`, and run nothing; without devices here: one of four");
  command.option("--ops", &c->options.ops, "only ops whose name matches this regular expression").with_default();
  command.option("--timeout_s", &c->options.timeout_s, "how long a client or a program may take").with_default();
  command.option("--json", &c->json, "prints JSON (docs/backends.md)");
  command.action = [c] { check(*c); };
}

}  // namespace tenon
