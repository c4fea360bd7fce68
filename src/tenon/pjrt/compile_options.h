// Options of one compilation, and their bytes on the wire (XLA's CompileOptionsProto).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tenon::pjrt {

struct CompileOptions {
  // Devices the program is split over; the mesh in the program has this size.
  int64_t num_partitions = 1;
  // Ids of those devices, in mesh order. Empty: 0 … num_partitions - 1.
  std::vector<int64_t> device_ids;
  // XLA flags of this compilation alone, by name without dashes ("xla_cpu_enable_fast_math" = "false"). Unknown names
  // and values of the wrong type are refused by the plugin.
  std::map<std::string, std::string> flags;
};

// The proto's bytes. Shardy partitions whenever num_partitions > 1; flags go as `env_option_overrides`, since a
// `debug_options` field would replace every default.
std::string serialize(const CompileOptions& options);

}  // namespace tenon::pjrt
