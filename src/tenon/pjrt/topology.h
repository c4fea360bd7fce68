// A machine that isn't here: compiling ahead of time for its devices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/result.h"
#include "tenon/pjrt/compile_options.h"
#include "tenon/pjrt/executable.h"
#include "tenon/pjrt/plugin.h"

struct PJRT_TopologyDescription;

namespace tenon::pjrt {

// Move-only.
class Topology {
 public:
  // `name` and `options` are the plugin's: "v5p:2x2x1" for TPUs; for GPUs {"target_config": text, "topology": "1x1x4"}
  // (partitions x hosts x devices). The CPU plugin has none. Errors: `plugin`, with the plugin's words.
  static Result<Topology> create(std::shared_ptr<const Plugin> plugin, const std::string& name,
                                 const Options& options = {});
  ~Topology();
  Topology(Topology&& other) noexcept;
  Topology& operator=(Topology&& other) noexcept;

  const Plugin& plugin() const { return *plugin_; }
  // Ids of the devices, in order.
  const std::vector<int64_t>& device_ids() const { return device_ids_; }
  // The kind of the first device: "TPU v5", "NVIDIA H100 80GB HBM3".
  const std::string& device_kind() const { return device_kind_; }
  // Of NVIDIA GPUs: 90 for 9.0; 0 when not known.
  int compute_capability() const { return compute_capability_; }
  // Compiles StableHLO text for it. `options.device_ids` empty: the first num_partitions of device_ids(). Errors:
  // `compile`, with the compiler's words. A program that isn't ours may crash the process.
  Result<CompiledProgram> compile(std::string_view program, CompileOptions options) const;

 private:
  Topology(std::shared_ptr<const Plugin> plugin, PJRT_TopologyDescription* topology)
      : plugin_(std::move(plugin)), topology_(topology) {}
  Status read_devices();

  std::shared_ptr<const Plugin> plugin_;
  PJRT_TopologyDescription* topology_;
  std::vector<int64_t> device_ids_;
  std::string device_kind_;
  int compute_capability_ = 0;
};

}  // namespace tenon::pjrt
