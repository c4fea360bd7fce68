// What a device takes beyond its speeds: where its plugin is, and what programs and experiments need for it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/config/value.h"
#include "tenon/kernels/kernels.h"
#include "tenon/pjrt/plugin.h"

namespace tenon {

// How programs are compiled for machines that aren't here.
enum class AotWay : uint8_t {
  none,      // they aren't
  devices,   // on as many devices of this machine
  topology,  // for a machine that is described to the plugin
};

// All may be left out: then things are as the platform has them (docs/backends.md).
struct DeviceSetup {
  std::string plugin;                              // its file; "": where find_plugin finds the platform's
  std::map<std::string, std::string> environment;  // variables that the plugin reads, where the user set none
  pjrt::Options client_options;
  std::map<std::string, std::string> compile_options;  // XLA flags of every program
  std::optional<std::vector<std::string>> kernels;     // names of implementations, best first
  std::optional<AotWay> aot;
  // What the plugin calls the machine, and options that describe it. Texts hold "{name}", "{shape}", "{hosts}",
  // "{devices}" (of a host) and "{num_devices}" of the target.
  std::string topology;
  pjrt::Options topology_options;
  // A list of tables (experiments/device_rules.h), for the types of machine that it is in.
  Value mesh_rules = Value(Value::List());
  // Line of the file that describes it; "" for rows that describe nothing but speeds.
  std::string where;

  bool has_mesh_rules() const { return !mesh_rules.as<Value::List>()->empty(); }
  // Reads `entry` into the field of its name; false when there is none. Throws, at the file and line, `wrong_type`,
  // `unknown_name` and `invalid_argument`.
  bool read(const Value::Entry& entry);
  // The names `read` knows.
  static std::vector<std::string> keys();
};

// How programs for `platform` are compiled ahead of time: as the setup says, else as the platforms that Tenon knows do.
AotWay aot_way(std::string_view platform, const DeviceSetup& setup);
// Those that programs may call: as the setup names them, else the platform's.
KernelList kernels_of(std::string_view platform, const DeviceSetup& setup, int compute_capability);
// Sets the environment, finds and loads the plugin. Throws `plugin`.
std::shared_ptr<const pjrt::Plugin> load_plugin(const std::string& platform, const DeviceSetup& setup);

}  // namespace tenon
