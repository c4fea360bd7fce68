// What commands about an experiment share: their options, and how these become a config.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/experiments/resolve.h"
#include "tenon/runtime/backend.h"
#include "tenon/runtime/chips.h"

namespace tenon {

struct Command;
struct Option;

struct ExperimentOptions {
  std::string experiment;
  Overrides overrides;
  std::vector<std::string> plugins;
};

// What programs run on: a platform, or a device by its description.
struct DeviceOptions {
  std::string platform = "cpu";
  std::optional<std::string> device;
};

// What programs are compiled for: a target, whose chip `device` may describe.
struct TargetOptions {
  std::string target;
  std::optional<std::string> device;
};

// The experiment and everything laid over it.
void add_experiment_options(Command& command, ExperimentOptions& options);
// The same without the experiment's name.
void add_override_options(Command& command, ExperimentOptions& options);
void add_plugin_option(Command& command, std::vector<std::string>& plugins);
// --platform, which is one of `platforms`, or --device in its place; returns the former.
const Option& add_device_options(Command& command, DeviceOptions& options, const std::string& platforms);
// --target, and --device.
void add_target_options(Command& command, TargetOptions& options);

// Throws `invalid_argument` when the path that an option gives is "", as a script's unset variable is.
void require_path(const char* option, const std::string& path);

// Lets each add to the global registries, once a process however often it is named.
void load_plugins(const std::vector<std::string>& paths);
// The experiments there are, those of plug-ins that were loaded among them.
const ExperimentRegistry& experiments();
// Loads the plug-ins, resolves, and prints on stderr what mesh rule and modifiers did.
Trainer::Config resolve_config(ExperimentOptions options);
// The same on so many devices: when these have mesh rules of their own, and no instance is given, it is theirs.
Trainer::Config resolve_config(ExperimentOptions options, std::shared_ptr<const Chip> device, int64_t num_devices);
// The same for a described device that was opened, or for null.
Trainer::Config resolve_config(ExperimentOptions options, const Backend* described);
Trainer::Config resolve_config(ExperimentOptions options, const std::string& target, const ChipTable& chips);

// The description that --device gives: a TOML file, or the name of one that ships with Tenon. Throws what read_device
// and ChipTable::find throw.
Chip find_device(const std::string& device);
std::shared_ptr<const Backend> open_backend(const DeviceOptions& options);
// The chips that a target may be of. Throws `invalid_argument` when --device describes another than the target's.
ChipTable chips_for(const TargetOptions& options);

}  // namespace tenon
