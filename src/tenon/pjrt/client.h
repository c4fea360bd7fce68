// A client: the devices of one plugin in this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/memory_kind.h"
#include "tenon/base/result.h"
#include "tenon/base/shape.h"
#include "tenon/pjrt/buffer.h"
#include "tenon/pjrt/compile_options.h"
#include "tenon/pjrt/executable.h"
#include "tenon/pjrt/plugin.h"

struct PJRT_Client;
struct PJRT_Device;
struct PJRT_Memory;

namespace tenon::pjrt {

// The CPU client's option for its number of virtual devices.
inline constexpr const char* kCpuDeviceCount = "cpu_device_count";

// Options of the CPU client.
struct CpuClientOptions {
  // Virtual devices, each running on the same cores.
  int64_t device_count = 1;
  // Threads of the pool all devices share; unset: one per core. Set through the environment of this process.
  std::optional<int64_t> num_threads;
  // Run programs behind the caller's back; off makes every call wait.
  std::optional<bool> asynchronous;
};

// Options of CUDA and ROCm clients; what isn't set is the plugin's choice.
struct GpuClientOptions {
  std::optional<std::string> allocator;  // default, bfc, cuda_async, platform, vmm
  std::optional<float> memory_fraction;  // of each device's memory, 0 to 1
  std::optional<bool> preallocate;
  std::optional<std::vector<int64_t>> visible_devices;
};

Options to_options(const CpuClientOptions& options);
Options to_options(const GpuClientOptions& options);

// One device of a client. `raw` belongs to the client.
struct Device {
  int64_t id = 0;
  std::string kind;            // "cpu", "NVIDIA H200", "TPU v5"
  int compute_capability = 0;  // of an NVIDIA GPU: 90 for 9.0; 0 when not known
  PJRT_Device* raw = nullptr;
};

// What a device's allocator counts, in bytes.
struct DeviceMemory {
  int64_t in_use = 0;
  // Most in use since the client began, and what there is to allocate; none where a plugin doesn't say.
  std::optional<int64_t> peak, limit;
};

// Thread-safe, except that executions should be started from one thread.
class Client : public std::enable_shared_from_this<Client> {
 public:
  // Errors: `plugin`, with the plugin's words (no device, unknown option, …).
  static Result<std::shared_ptr<const Client>> create(std::shared_ptr<const Plugin> plugin,
                                                      const Options& options = {});
  // The CPU client.
  static Result<std::shared_ptr<const Client>> create(std::shared_ptr<const Plugin> plugin,
                                                      const CpuClientOptions& options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const std::shared_ptr<const Plugin>& plugin() const { return plugin_; }
  // As the plugin spells it: "cpu", "cuda", "tpu".
  const std::string& platform_name() const { return platform_name_; }
  const std::string& platform_version() const { return platform_version_; }
  // The devices of this process.
  const std::vector<Device>& devices() const { return devices_; }

  // Copies a dense row-major array to a device. `bytes` may be freed when this returns. Throws nothing; errors:
  // `plugin` (no memory), `shape_mismatch` when the bytes aren't those of `type`, `unsupported` when the device has no
  // such memory.
  Result<Buffer> copy_from_host(const TensorType& type, std::span<const std::byte> bytes, const Device& device,
                                MemoryKind memory = MemoryKind::device) const;
  // The kinds of memory that a device reaches, in the plugin's words: "device", "pinned_host", …
  Result<std::vector<std::string>> memory_kinds(const Device& device) const;
  // Errors: `unsupported` where the plugin doesn't count, as the CPU's; `plugin`.
  Result<DeviceMemory> memory(const Device& device) const;
  // The most bytes in use on any one device since the client began; none where the plugin doesn't say.
  std::optional<int64_t> peak_memory() const;
  // Compiles StableHLO text. Errors: `compile`, with the compiler's words.
  Result<Executable> compile(std::string_view program, const CompileOptions& options) const;
  // Loads what CompiledProgram::serialize gave. Only bytes that are known to be intact, from the same plugin on the
  // same kind of machine: the plugin doesn't check.
  Result<Executable> deserialize(std::string_view bytes, const CompileOptions& options) const;

 private:
  Client(std::shared_ptr<const Plugin> plugin, PJRT_Client* client) : plugin_(std::move(plugin)), client_(client) {}
  Status read_devices();
  Result<PJRT_Memory*> find_memory(const Device& device, MemoryKind kind) const;
  Result<Executable> adopt(PJRT_LoadedExecutable* loaded) const;

  std::shared_ptr<const Plugin> plugin_;
  PJRT_Client* client_;
  std::string platform_name_, platform_version_;
  std::vector<Device> devices_;
};

}  // namespace tenon::pjrt
