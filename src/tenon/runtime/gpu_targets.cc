#include "tenon/runtime/gpu_targets.h"

#include <fmt/format.h>

#include <array>

#include "tenon/base/error.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

// What differs between GPUs of compute capability 9.0 (Hopper). Bandwidth in bytes/s, memory in bytes.
struct Hopper {
  std::string_view kind, name;
  int64_t memory_bandwidth, memory_bytes;
};

constexpr std::array<Hopper, 2> kHoppers = {{
    {"h100", "NVIDIA H100 80GB HBM3", 3'352'320'000'000, 84'942'979'072},
    {"h200", "NVIDIA H200", 4'800'000'000'000, 141'000'000'000},
}};

// NVIDIA's limits of compute capability 9.0 and the SXM boards' core count and clock.
constexpr std::string_view kHopperConfig = R"(gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: 233472
  shared_memory_per_block_optin: 232448
  threads_per_core_limit: 2048
  core_count: 132
  fpus_per_core: 128
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  thread_dim_limit_x: 1024
  thread_dim_limit_y: 1024
  thread_dim_limit_z: 64
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  memory_bandwidth: {bandwidth}
  l2_cache_size: 52428800
  clock_rate_ghz: 1.98
  device_memory_size: {memory}
  device_address_bits: 64
  cuda_compute_capability {{ major: 9 feature_extension: ACCELERATED_FEATURES }}
  name: "{name}"
  driver_version: "13.0.0"
  runtime_version: "13.0.0"
  compile_time_toolkit_version: "13.0.0"
  dnn_version: "9.10.0"
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 patch: 0 }}
device_description_str: "{name}"
)";

}  // namespace

std::vector<std::string> gpu_kinds() {
  std::vector<std::string> kinds;
  for (const Hopper& gpu : kHoppers) kinds.emplace_back(gpu.kind);
  return kinds;
}

std::string gpu_target_config(std::string_view kind) {
  for (const Hopper& gpu : kHoppers) {
    if (gpu.kind != kind) continue;
    return fmt::format(fmt::runtime(kHopperConfig), fmt::arg("bandwidth", gpu.memory_bandwidth),
                       fmt::arg("memory", gpu.memory_bytes), fmt::arg("name", gpu.name));
  }
  throw Error(ErrorCode::unknown_name, fmt::format("no description of a GPU called \"{}\"", kind))
      .expected(join(gpu_kinds(), ", "))
      .hint(did_you_mean(kind, gpu_kinds()));
}

}  // namespace tenon
