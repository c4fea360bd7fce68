#include "tenon/cli/measure_command.h"

#include <memory>

#include "tenon/cli/command_line.h"
#include "tenon/cli/options.h"
#include "tenon/trainer/measure.h"

namespace tenon {
namespace {

struct MeasureCommand {
  ExperimentOptions experiment;
  DeviceOptions device;
  MeasureOptions options;
  bool json = false;
};

void measure(const MeasureCommand& command) {
  const CompileCache cache;
  MeasureOptions options = command.options;
  options.cache = &cache;
  const std::shared_ptr<const Backend> backend = open_backend(command.device);
  const Trainer::Config config = resolve_config(command.experiment, command.device.device ? backend.get() : nullptr);
  const StepMeasurement measured = measure_steps(config, backend, options);
  print_text(command.json ? measurement_json(measured) : format_measurement(measured));
}

}  // namespace

void add_measure_command(Command& program) {
  const auto c = std::make_shared<MeasureCommand>();
  Command& command = program.add("measure", "times a few steps of training and their memory, and keeps nothing");
  add_experiment_options(command, c->experiment);
  add_device_options(command, c->device, "cpu, cpu:N (N virtual devices), cuda or tpu");
  command.option("--steps", &c->options.steps, "how many are timed").with_default();
  command.option("--warm_up", &c->options.warm_up, "steps before them").with_default();
  command.option("--json", &c->json, "prints JSON (docs/device_check.md)");
  command.action = [c] { measure(*c); };
}

}  // namespace tenon
