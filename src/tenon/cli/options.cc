#include "tenon/cli/options.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "tenon/base/plugin_library.h"
#include "tenon/base/text.h"
#include "tenon/cli/command_line.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/machine_types.h"
#include "tenon/experiments/overlay_file.h"
#include "tenon/runtime/aot.h"

namespace tenon {
namespace {

constexpr const char* kOrder =
    "Order: first what begins with `args.` or `mesh_rules.`, in files and then in --set: the arguments that an\n"
    "       experiment's config is computed from (`tenon config args EXPERIMENT`), and what changes with the machine;\n"
    "       over that config go the files, the mesh rule that matches --instance, --modify, then --set.\n";

constexpr const char* kDeviceDoc =
    "a device by its description: a TOML file (docs/backends.md), or the name of one that ships with Tenon, as trn2";

}  // namespace

const Option& add_device_options(Command& command, DeviceOptions& options, const std::string& platforms) {
  const Option& platform = command.option("--platform", &options.platform, platforms).with_default();
  command.option("--device", &options.device, kDeviceDoc).type_name("FILE").excludes(platform);
  return platform;
}

void add_target_options(Command& command, TargetOptions& options) {
  command
      .option("--target", &options.target,
              "the machine: TPU generation and chips, as v5p:8x8x4 (v5p:8x8x4*2: two slices); other chips by hosts x "
              "devices, as h100:32x8, or their number, as h100:4; cpu:8")
      .required();
  command.option("--device", &options.device, std::string("of a target whose chip Tenon doesn't know: ") + kDeviceDoc)
      .type_name("FILE");
}

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

void require_path(const char* option, const std::string& path) {
  if (!path.empty()) return;
  throw Error(ErrorCode::invalid_argument, "the path is empty").at(option).hint("leave it out, or name one");
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

Chip find_device(const std::string& device) {
  return is_overlay_file(device) ? read_device(device) : ChipTable::builtin().find(device);
}

std::shared_ptr<const Backend> open_backend(const DeviceOptions& options) {
  return options.device ? Backend::open(find_device(*options.device)) : Backend::open(options.platform);
}

ChipTable chips_for(const TargetOptions& options) {
  if (!options.device) return ChipTable::builtin();
  const Chip chip = find_device(*options.device);
  const std::string_view target = options.target;
  if (target.substr(0, target.find(':')) != chip.name) {
    throw Error(ErrorCode::invalid_argument, "the device isn't the target's")
        .at("--device")
        .got(fmt::format("{}, for target {}", chip.name, quote_text(target)))
        .expected(fmt::format("a target as {}:8", chip.name));
  }
  return ChipTable::builtin().with(chip);
}

Trainer::Config resolve_config(ExperimentOptions options, std::shared_ptr<const Chip> device, int64_t num_devices) {
  if (device != nullptr && device->setup.has_mesh_rules()) {
    if (!options.overrides.instance) options.overrides.instance = device->instance(num_devices);
    options.overrides.device = std::move(device);
  }
  return resolve_config(std::move(options));
}

Trainer::Config resolve_config(ExperimentOptions options, const Backend* described) {
  if (described == nullptr) return resolve_config(std::move(options));
  return resolve_config(std::move(options), std::make_shared<const Chip>(*described->chip()), described->num_devices());
}

Trainer::Config resolve_config(ExperimentOptions options, const std::string& target_text, const ChipTable& chips) {
  const AotTarget target = AotTarget::parse(target_text, chips);
  std::shared_ptr<const Chip> chip;
  if (target.name != "cpu") {
    chip = std::make_shared<const Chip>(chips.find(target.name));
    if (options.overrides.instance) check_instance(*options.overrides.instance, chip->name, target.num_devices);
  }
  return resolve_config(std::move(options), std::move(chip), target.num_devices);
}

Trainer::Config resolve_config(ExperimentOptions options) {
  load_plugins(options.plugins);
  const Experiment& experiment = find_experiment(experiments(), options.experiment, options.overrides);
  Resolved resolved = resolve(experiment, options.overrides);
  if (!resolved.report.empty()) fmt::print(stderr, "{}", resolved.report);
  return std::move(resolved.config);
}

}  // namespace tenon
