#include "tenon/runtime/gpu_targets.h"

#include <fmt/format.h>

#include <array>

#include "tenon/base/error.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

// What differs between GPUs, from NVIDIA's tables of compute capabilities and its data sheets of SXM boards. Bandwidth
// in bytes a second, memory in bytes.
struct Gpu {
  std::string_view kind, name;
  int major;
  bool accelerated;  // has features of its own compute capability alone (sm_90a)
  int64_t core_count, fpus_per_core, shared_memory_per_core, shared_memory_optin, l2_cache_bytes;
  double clock_ghz;
  int64_t memory_bandwidth, memory_bytes;
};

constexpr std::array<Gpu, 4> kGpus = {{
    {"h100", "NVIDIA H100 80GB HBM3", 9, true, 132, 128, 233472, 232448, 52428800, 1.98, 3'352'320'000'000,
     84'942'979'072},
    {"h200", "NVIDIA H200", 9, true, 132, 128, 233472, 232448, 52428800, 1.98, 4'800'000'000'000, 141'000'000'000},
    {"a100", "NVIDIA A100-SXM4-80GB", 8, false, 108, 64, 167936, 166912, 41943040, 1.41, 2'039'040'000'000,
     85'100'068'864},
    {"b200", "NVIDIA B200", 10, true, 148, 128, 233472, 232448, 132644864, 1.965, 7'672'320'000'000, 191'514'411'008},
}};

constexpr std::string_view kConfig = R"(gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {shared}
  shared_memory_per_block_optin: {optin}
  threads_per_core_limit: 2048
  core_count: {cores}
  fpus_per_core: {fpus}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  thread_dim_limit_x: 1024
  thread_dim_limit_y: 1024
  thread_dim_limit_z: 64
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  memory_bandwidth: {bandwidth}
  l2_cache_size: {l2}
  clock_rate_ghz: {clock}
  device_memory_size: {memory}
  device_address_bits: 64
  cuda_compute_capability {{ major: {major} feature_extension: {features} }}
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
  for (const Gpu& gpu : kGpus) kinds.emplace_back(gpu.kind);
  return kinds;
}

std::string gpu_target_config(std::string_view kind) {
  for (const Gpu& gpu : kGpus) {
    if (gpu.kind != kind) continue;
    return fmt::format(fmt::runtime(kConfig), fmt::arg("shared", gpu.shared_memory_per_core),
                       fmt::arg("optin", gpu.shared_memory_optin), fmt::arg("cores", gpu.core_count),
                       fmt::arg("fpus", gpu.fpus_per_core), fmt::arg("bandwidth", gpu.memory_bandwidth),
                       fmt::arg("l2", gpu.l2_cache_bytes), fmt::arg("clock", gpu.clock_ghz),
                       fmt::arg("memory", gpu.memory_bytes), fmt::arg("major", gpu.major),
                       fmt::arg("features", gpu.accelerated ? "ACCELERATED_FEATURES" : "NONE"),
                       fmt::arg("name", gpu.name));
  }
  throw Error(ErrorCode::unknown_name, fmt::format("no description of a GPU called {}", quote_text(kind)))
      .expected(join(gpu_kinds(), ", "))
      .hint(did_you_mean(kind, gpu_kinds()));
}

}  // namespace tenon
