#include "tenon/pjrt/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tenon/base/text.h"
#include "tenon/pjrt/c_api.h"
#include "tenon/pjrt/options.h"

namespace tenon::pjrt {
namespace {

Status describe_device(const PJRT_Api* api, PJRT_Device* raw, Device& out) {
  TENON_PJRT_ARGS(Device_GetDescription, get);
  get.device = raw;
  if (Status s = to_status(api, api->PJRT_Device_GetDescription(&get), "describe a device"); !s) return s;
  TENON_PJRT_ARGS(DeviceDescription_Id, id);
  id.device_description = get.device_description;
  if (Status s = to_status(api, api->PJRT_DeviceDescription_Id(&id), "give a device's id"); !s) return s;
  TENON_PJRT_ARGS(DeviceDescription_Kind, kind);
  kind.device_description = get.device_description;
  if (Status s = to_status(api, api->PJRT_DeviceDescription_Kind(&kind), "give a device's kind"); !s) return s;
  out = Device{id.id, std::string(kind.device_kind, kind.device_kind_size),
               compute_capability(api, get.device_description), raw};
  return {};
}

// The memories that a device reaches, and what the plugin calls their kinds.
Result<std::vector<std::pair<std::string, PJRT_Memory*>>> list_memories(const PJRT_Api* api, PJRT_Device* device) {
  TENON_PJRT_ARGS(Device_AddressableMemories, list);
  list.device = device;
  Status listed = to_status(api, api->PJRT_Device_AddressableMemories(&list), "list a device's memories");
  if (!listed) return listed.error();
  std::vector<std::pair<std::string, PJRT_Memory*>> out;
  for (size_t i = 0; i < list.num_memories; ++i) {
    TENON_PJRT_ARGS(Memory_Kind, kind);
    kind.memory = list.memories[i];
    if (Status s = to_status(api, api->PJRT_Memory_Kind(&kind), "name a memory's kind"); !s) return s.error();
    out.emplace_back(std::string(kind.kind, kind.kind_size), list.memories[i]);
  }
  return out;
}

}  // namespace

Options to_options(const CpuClientOptions& options) {
  Options result{{kCpuDeviceCount, options.device_count}};
  if (options.asynchronous) result.emplace("asynchronous", *options.asynchronous);
  return result;
}

Options to_options(const GpuClientOptions& options) {
  Options result;
  if (options.allocator) result.emplace("allocator", *options.allocator);
  if (options.memory_fraction) result.emplace("memory_fraction", *options.memory_fraction);
  if (options.preallocate) result.emplace("preallocate", *options.preallocate);
  if (options.visible_devices) result.emplace("visible_devices", *options.visible_devices);
  return result;
}

Result<std::shared_ptr<const Client>> Client::create(std::shared_ptr<const Plugin> plugin, const Options& options) {
  const PJRT_Api* api = plugin->api();
  const std::vector<PJRT_NamedValue> values = to_named_values(options);
  TENON_PJRT_ARGS(Client_Create, args);
  args.create_options = values.data();
  args.num_options = values.size();
  if (Status s = to_status(api, api->PJRT_Client_Create(&args), "create a client"); !s) {
    return Error(s.error()).at(plugin->path());
  }
  std::shared_ptr<Client> client(new Client(std::move(plugin), args.client));
  if (Status s = client->read_devices(); !s) return s.error();
  return std::shared_ptr<const Client>(std::move(client));
}

Result<std::shared_ptr<const Client>> Client::create(std::shared_ptr<const Plugin> plugin,
                                                     const CpuClientOptions& options) {
  if (options.num_threads) setenv("PJRT_NPROC", std::to_string(*options.num_threads).c_str(), 1);
  return create(std::move(plugin), to_options(options));
}

Client::~Client() {
  const PJRT_Api* api = plugin_->api();
  TENON_PJRT_ARGS(Client_Destroy, args);
  args.client = client_;
  ignore(api, api->PJRT_Client_Destroy(&args));
}

Status Client::read_devices() {
  const PJRT_Api* api = plugin_->api();
  TENON_PJRT_ARGS(Client_PlatformName, name);
  name.client = client_;
  if (Status s = to_status(api, api->PJRT_Client_PlatformName(&name), "name its platform"); !s) return s;
  platform_name_.assign(name.platform_name, name.platform_name_size);
  TENON_PJRT_ARGS(Client_PlatformVersion, version);
  version.client = client_;
  if (Status s = to_status(api, api->PJRT_Client_PlatformVersion(&version), "give its version"); !s) return s;
  platform_version_.assign(version.platform_version, version.platform_version_size);
  TENON_PJRT_ARGS(Client_AddressableDevices, list);
  list.client = client_;
  if (Status s = to_status(api, api->PJRT_Client_AddressableDevices(&list), "list its devices"); !s) return s;
  devices_.resize(list.num_addressable_devices);
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (Status s = describe_device(api, list.addressable_devices[i], devices_[i]); !s) return s;
  }
  return {};
}

Result<Buffer> Client::copy_from_host(const TensorType& type, std::span<const std::byte> bytes, const Device& device,
                                      MemoryKind memory) const {
  if (static_cast<int64_t>(bytes.size()) != byte_size(type)) {
    return Error(ErrorCode::shape_mismatch, "the bytes to copy to a device don't fill the array")
        .got(fmt::format("{} bytes", bytes.size()))
        .expected(fmt::format("{} bytes for {}", byte_size(type), to_string(type)));
  }
  const PJRT_Api* api = plugin_->api();
  TENON_PJRT_ARGS(Client_BufferFromHostBuffer, args);
  args.client = client_;
  args.data = bytes.data();
  args.type = to_pjrt(type.dtype);
  args.dims = type.dims.data();
  args.num_dims = type.dims.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = device.raw;
  if (memory != MemoryKind::device) {
    const Result<PJRT_Memory*> found = find_memory(device, memory);
    if (!found) return found.error();
    args.memory = *found;
  }
  Status status = to_status(api, api->PJRT_Client_BufferFromHostBuffer(&args),
                            fmt::format("copy an array {} to device {}", to_string(type), device.id));
  if (!status) return status.error();
  const Event read(shared_from_this(), args.done_with_host_buffer);
  Buffer buffer(shared_from_this(), args.buffer);
  if (Status s = read.wait(); !s) return s.error();
  return buffer;
}

Result<std::vector<std::string>> Client::memory_kinds(const Device& device) const {
  const auto memories = list_memories(plugin_->api(), device.raw);
  if (!memories) return memories.error();
  std::vector<std::string> out;
  for (const auto& [kind, memory] : *memories) out.push_back(kind);
  return out;
}

Result<DeviceMemory> Client::memory(const Device& device) const {
  const PJRT_Api* api = plugin_->api();
  TENON_PJRT_ARGS(Device_MemoryStats, args);
  args.device = device.raw;
  if (Status s = to_status(api, api->PJRT_Device_MemoryStats(&args), "count a device's memory"); !s) return s.error();
  DeviceMemory out{args.bytes_in_use, {}, {}};
  if (args.peak_bytes_in_use_is_set) out.peak = args.peak_bytes_in_use;
  if (args.bytes_limit_is_set) out.limit = args.bytes_limit;
  return out;
}

std::optional<int64_t> Client::peak_memory() const {
  std::optional<int64_t> most;
  for (const Device& device : devices_) {
    const Result<DeviceMemory> counted = memory(device);
    if (!counted || !(*counted).peak) return std::nullopt;
    most = std::max(most.value_or(0), *(*counted).peak);
  }
  return most;
}

Result<PJRT_Memory*> Client::find_memory(const Device& device, MemoryKind kind) const {
  const auto memories = list_memories(plugin_->api(), device.raw);
  if (!memories) return memories.error();
  std::vector<std::string> kinds;
  for (const auto& [name, memory] : *memories) {
    if (name == to_string(kind)) return memory;
    kinds.push_back(name);
  }
  return Error(ErrorCode::unsupported, fmt::format("the device has no memory {}", to_string(kind)))
      .got(fmt::format("{}: {}", device.kind, join(kinds, ", ")));
}

Result<Executable> Client::compile(std::string_view program, const CompileOptions& options) const {
  const PJRT_Api* api = plugin_->api();
  const std::string wire = serialize(options);
  const PJRT_Program text = make_program(program);
  TENON_PJRT_ARGS(Client_Compile, args);
  args.client = client_;
  args.program = &text;
  args.compile_options = wire.data();
  args.compile_options_size = wire.size();
  LogCapture log;
  Status status = compiler_status(api, [&] { return api->PJRT_Client_Compile(&args); }, "compile the program");
  std::vector<CompilerWarning> warnings = log.finish();
  if (!status) return status.error();
  Result<Executable> result = adopt(args.executable);
  if (result) result->program_.set_warnings(std::move(warnings));
  return result;
}

Result<Executable> Client::deserialize(std::string_view bytes, const CompileOptions& options) const {
  const PJRT_Api* api = plugin_->api();
  const std::string wire = serialize(options);
  TENON_PJRT_ARGS(Executable_DeserializeAndLoad, args);
  args.client = client_;
  args.serialized_executable = bytes.data();
  args.serialized_executable_size = bytes.size();
  args.overridden_serialized_compile_options = wire.data();
  args.overridden_serialized_compile_options_size = wire.size();
  LogCapture log;
  Status status =
      to_status(api, api->PJRT_Executable_DeserializeAndLoad(&args), "load a compiled program", ErrorCode::compile);
  (void)log.finish();
  if (!status) return status.error();
  return adopt(args.loaded_executable);
}

Result<Executable> Client::adopt(PJRT_LoadedExecutable* loaded) const {
  const PJRT_Api* api = plugin_->api();
  TENON_PJRT_ARGS(LoadedExecutable_GetExecutable, get);
  get.loaded_executable = loaded;
  Status status = to_status(api, api->PJRT_LoadedExecutable_GetExecutable(&get), "describe a compiled program");
  if (!status) {
    TENON_PJRT_ARGS(LoadedExecutable_Destroy, destroy);
    destroy.executable = loaded;
    ignore(api, api->PJRT_LoadedExecutable_Destroy(&destroy));
    return status.error();
  }
  Executable result(shared_from_this(), loaded, CompiledProgram(plugin_, get.executable));
  if (Status s = result.read_sizes(); !s) return s.error();
  return result;
}

}  // namespace tenon::pjrt
