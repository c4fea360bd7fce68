#include "tenon/cli/debug_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tenon/aot/step_report.h"
#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/cli/command_line.h"
#include "tenon/cli/options.h"
#include "tenon/ir/printer.h"
#include "tenon/trainer/inspect.h"
#include "tenon/trainer/trace_step.h"

namespace tenon {
namespace {

constexpr std::string_view kTraced = "traced", kStableHlo = "stablehlo";

struct DumpCommand {
  ExperimentOptions experiment;
  std::optional<std::string> target;  // none: what `device` says
  DeviceOptions device;
  std::string stage = "all";
  // Where one file for each stage goes; empty: to standard output.
  std::string dir;
};
struct InspectCommand {
  ExperimentOptions experiment;
  std::string at;
};

struct Stage {
  std::string name, text;
};

// What the train step was at each stage of its way, in order.
std::vector<Stage> stages_of(const DumpCommand& command) {
  std::vector<Stage> stages;
  const PassObserver observe = [&](const Pass* pass, const Graph& graph) {
    stages.push_back({std::string(pass == nullptr ? kTraced : pass->name), to_string(graph)});
  };
  const auto trace = [&](const Trainer::Config& config, int64_t num_devices, const KernelList& kernels) {
    const TracedStep traced = trace_train_step(config, num_devices, kernels, observe);
    stages.push_back({std::string(kStableHlo), traced.step.program.text});
  };
  if (command.target) {
    const ChipTable chips = chips_for({*command.target, command.device.device});
    const Trainer::Config config = resolve_config(command.experiment, *command.target, chips);
    const ProgramReporter machine(*command.target, {.chips = chips});
    trace(config, machine.num_devices(), machine.kernels());
  } else {
    const std::shared_ptr<const Backend> backend = open_backend(command.device);
    const Backend* described = command.device.device ? backend.get() : nullptr;
    trace(resolve_config(command.experiment, described), backend->num_devices(), backend->kernels());
  }
  return stages;
}

// The numbers of the stages that `wanted` names.
std::vector<size_t> choose(const std::vector<Stage>& stages, const std::string& wanted) {
  std::vector<size_t> chosen;
  std::vector<std::string> names{"all", "passes"};
  for (size_t i = 0; i < stages.size(); ++i) {
    if (std::find(names.begin(), names.end(), stages[i].name) == names.end()) names.push_back(stages[i].name);
    const bool last_pass = wanted == "passes" && i + 2 == stages.size();
    if (wanted == "all" || wanted == stages[i].name || last_pass) chosen.push_back(i);
  }
  if (!chosen.empty()) return chosen;
  throw Error(ErrorCode::unknown_name, "no such stage")
      .at("--stage")
      .got(quote_text(wanted))
      .expected(join(names, ", "))
      .hint(did_you_mean(wanted, names));
}

void dump(const DumpCommand& command) {
  const std::vector<Stage> stages = stages_of(command);
  const std::vector<size_t> chosen = choose(stages, command.stage);
  if (!command.dir.empty()) make_dirs(command.dir).value();
  for (const size_t i : chosen) {
    const Stage& stage = stages[i];
    if (command.dir.empty()) {
      const std::string title = chosen.size() > 1 ? fmt::format("// ---- {} ----\n", stage.name) : "";
      print_text(title + stage.text);
      continue;
    }
    const char* extension = stage.name == kStableHlo ? "mlir" : "txt";
    const std::string path = join_path(command.dir, fmt::format("{:02}_{}.{}", i, stage.name, extension));
    write_file_atomic(path, stage.text).value();
    print_text(fmt::format("{}  {}\n", path, format_bytes(stage.text.size())));
  }
}

void inspect(const InspectCommand& command) {
  const InspectedLoss loss =
      inspect_forward(resolve_config(command.experiment), command.at,
                      [](const InspectedValue& value) { print_text(format_value(value) + "\n"); });
  print_text(fmt::format("loss {:.6g} over {:.0f} {}\n", loss.loss, loss.weight, loss.unit));
}

void add_dump(Command& debug) {
  const auto c = std::make_shared<DumpCommand>();
  Command& command = debug.add("dump", "prints the train step: its graph around each pass, and the StableHLO");
  add_experiment_options(command, c->experiment);
  const Option& platform = add_device_options(command, c->device, "for this platform, as in `tenon train`");
  command.option("--target", &c->target, "for a machine that isn't here, as in `tenon aot`").excludes(platform);
  command
      .option("--stage", &c->stage,
              "traced; the name of a pass: the graph behind it; passes: behind the last; stablehlo; or all")
      .with_default();
  command.option("--dir", &c->dir, "writes a file for each stage there instead of printing");
  command.action = [c] { dump(*c); };
}

void add_inspect(Command& debug) {
  const auto c = std::make_shared<InspectCommand>();
  Command& command = debug.add("inspect", "runs one batch through the interpreter, prints a module's values");
  add_experiment_options(command, c->experiment);
  command.option("--at", &c->at, "a module's path (as errors have it), or a regular expression for path/op").required();
  command.action = [c] { inspect(*c); };
}

}  // namespace

void add_debug_commands(Command& program) {
  Command& debug = program.add("debug", "looks into an experiment's train step");
  add_dump(debug);
  add_inspect(debug);
}

}  // namespace tenon
