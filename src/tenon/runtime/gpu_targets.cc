#include "tenon/runtime/gpu_targets.h"

#include <fmt/format.h>

#include <array>

#include "tenon/base/error.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

// What differs between GPUs, from NVIDIA's tables of compute capabilities, AMD's description of its CDNA 3 instruction
// set, and data sheets of SXM and OAM boards. Bandwidth in bytes a second, memory in bytes.
struct Gpu {
  std::string_view kind, name, architecture;  // "9" or "9a" as in sm_90a, or AMD's
  int64_t core_count, fpus_per_core, shared_memory_per_core, shared_memory_optin, l2_cache_bytes;
  double clock_ghz;
  int64_t memory_bandwidth, memory_bytes;
};

constexpr std::array<Gpu, 5> kGpus = {{
    {"h100", "NVIDIA H100 80GB HBM3", "9a", 132, 128, 233472, 232448, 52428800, 1.98, 3'352'320'000'000,
     84'942'979'072},
    {"h200", "NVIDIA H200", "9a", 132, 128, 233472, 232448, 52428800, 1.98, 4'800'000'000'000, 141'000'000'000},
    {"a100", "NVIDIA A100-SXM4-80GB", "8", 108, 64, 167936, 166912, 41943040, 1.41, 2'039'040'000'000, 85'100'068'864},
    {"b200", "NVIDIA B200", "10a", 148, 128, 233472, 232448, 132644864, 1.965, 7'672'320'000'000, 191'514'411'008},
    {"mi300x", "AMD Instinct MI300X", "gfx942:sramecc+:xnack-", 304, 128, 65536, 65536, 4194304, 2.1, 5'300'000'000'000,
     192'000'000'000},
}};

constexpr std::string_view kCommon = R"(  threads_per_block_limit: 1024
  threads_per_core_limit: 2048
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  device_address_bits: 64
)";
constexpr std::string_view kNvidia = R"(  threads_per_warp: 32
  thread_dim_limit_x: 1024
  thread_dim_limit_y: 1024
  thread_dim_limit_z: 64
  shared_memory_per_block: 49152
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  driver_version: "13.0.0"
  runtime_version: "13.0.0"
  compile_time_toolkit_version: "13.0.0"
  dnn_version: "9.10.0"
)";
constexpr std::string_view kAmd = R"(  threads_per_warp: 64
  thread_dim_limit_x: 1024
  thread_dim_limit_y: 1024
  thread_dim_limit_z: 1024
  shared_memory_per_block: 65536
  registers_per_core_limit: 131072
  registers_per_block_limit: 131072
)";

bool is_amd(const Gpu& gpu) { return gpu.architecture.starts_with("gfx"); }

// Its compute capability, as a field of the device's description.
std::string capability(const Gpu& gpu) {
  if (is_amd(gpu)) return fmt::format("rocm_compute_capability {{ gcn_arch_name: \"{}\" }}", gpu.architecture);
  const bool accelerated = gpu.architecture.ends_with('a');
  return fmt::format("cuda_compute_capability {{ major: {} feature_extension: {} }}",
                     gpu.architecture.substr(0, gpu.architecture.size() - (accelerated ? 1 : 0)),
                     accelerated ? "ACCELERATED_FEATURES" : "NONE");
}

std::string describe(const Gpu& gpu) {
  std::string device =
      fmt::format("{}{}  name: \"{}\"\n  {}\n", kCommon, is_amd(gpu) ? kAmd : kNvidia, gpu.name, capability(gpu));
  const auto add = [&](std::string_view field, auto value) { device += fmt::format("  {}: {}\n", field, value); };
  add("core_count", gpu.core_count);
  add("fpus_per_core", gpu.fpus_per_core);
  add("shared_memory_per_core", gpu.shared_memory_per_core);
  add("shared_memory_per_block_optin", gpu.shared_memory_optin);
  add("l2_cache_size", gpu.l2_cache_bytes);
  add("clock_rate_ghz", gpu.clock_ghz);
  add("memory_bandwidth", gpu.memory_bandwidth);
  add("device_memory_size", gpu.memory_bytes);
  return fmt::format(
      "gpu_device_info {{\n{}}}\nplatform_name: \"{}\"\ndnn_version_info {{ {} }}\ndevice_description_str: \"{}\"\n",
      device, is_amd(gpu) ? "ROCM" : "CUDA", is_amd(gpu) ? "" : "major: 9 minor: 10 patch: 0", gpu.name);
}

}  // namespace

std::vector<std::string> gpu_kinds() {
  std::vector<std::string> kinds;
  for (const Gpu& gpu : kGpus) kinds.emplace_back(gpu.kind);
  return kinds;
}

std::string gpu_target_config(std::string_view kind) {
  for (const Gpu& gpu : kGpus) {
    if (gpu.kind == kind) return describe(gpu);
  }
  throw Error(ErrorCode::unknown_name, fmt::format("no description of a GPU called {}", quote_text(kind)))
      .expected(join(gpu_kinds(), ", "))
      .hint(did_you_mean(kind, gpu_kinds()));
}

}  // namespace tenon
