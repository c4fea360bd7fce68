#include "tenon/cli/parity_command.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "tenon/cli/command_line.h"
#include "tenon/cli/options.h"
#include "tenon/trainer/parity.h"

namespace tenon {
namespace {

struct ParityCommand {
  ExperimentOptions experiment;
  std::vector<std::string> meshes;
  DeviceOptions device{.platform = "cpu:8", .device = {}};
  ParityOptions options;
  bool json = false;
};

void parity(const ParityCommand& command) {
  ParityOptions options = command.options;
  if (!(options.tolerance >= 0 && std::isfinite(options.tolerance))) {
    throw Error(ErrorCode::invalid_argument, "not a tolerance")
        .at("--tolerance")
        .got(fmt::format("{}", options.tolerance))
        .expected("a number of at least 0");
  }
  for (const std::string& text : command.meshes) {
    Result<ParityMesh> mesh = parse_parity_mesh(text);
    if (!mesh.ok()) {
      Error e = mesh.error();
      throw e.prefix("--mesh");
    }
    options.meshes.push_back(*mesh);
  }
  const CompileCache cache;
  options.cache = &cache;
  const Trainer::Config config = resolve_config(command.experiment);
  const auto progress = [](const ParityResult& result) {
    fmt::print(stderr, "mesh {}: {} steps\n", result.mesh, result.losses.size());
  };
  const ParityReport report = check_parity(config, open_backend(command.device), options, progress);
  print_text(command.json ? parity_json(report) : format_parity(report));
  if (report.agrees()) return;
  throw Error(ErrorCode::mesh_mismatch, "a mesh changes what is learned")
      .expected(
          fmt::format("the same initial weights, and losses within {:.0e} of those of one device", report.tolerance));
}

}  // namespace

void add_parity_command(Command& program) {
  const auto c = std::make_shared<ParityCommand>();
  Command& command = program.add("parity", "compares training on meshes of devices with training on one of them");
  add_experiment_options(command, c->experiment);
  command
      .option("--mesh", &c->meshes,
              "axes and their sizes, as fsdp=4,model=2, and accumulation=N for N microbatches; may be given again")
      .required()
      .type_name("MESH");
  command.option("--steps", &c->options.steps, "how many are compared").with_default();
  command.option("--tolerance", &c->options.tolerance, "largest relative difference of losses that agree")
      .with_default();
  add_device_options(command, c->device, "cpu:N (N virtual devices), cuda or tpu");
  command.option("--json", &c->json, "prints JSON");
  command.action = [c] { parity(*c); };
}

}  // namespace tenon
