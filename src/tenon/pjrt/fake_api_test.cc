#include "tenon/pjrt/fake_api.h"

#include <cstring>
#include <vector>

struct PJRT_Error {
  PJRT_Error_Code code;
  std::string message;
};
struct PJRT_Event {
  bool failed;
};
struct PJRT_Client {};
struct PJRT_DeviceDescription {
  int id;
};
struct PJRT_Device {
  PJRT_DeviceDescription description;
};
struct PJRT_Buffer {
  PJRT_Buffer_Type type;
  std::vector<int64_t> dims;
  std::vector<char> bytes;
};
struct PJRT_Executable {};
struct PJRT_LoadedExecutable {};
struct PJRT_TopologyDescription {};
struct PJRT_SerializedExecutable {};

namespace tenon::pjrt {
namespace {

constexpr size_t kNumDevices = 2;
FakeApi* fake = nullptr;
PJRT_Device devices[kNumDevices] = {{{7}}, {{8}}};
PJRT_Device* device_list[kNumDevices] = {&devices[0], &devices[1]};
PJRT_DeviceDescription* description_list[kNumDevices] = {&devices[0].description, &devices[1].description};
PJRT_SerializedExecutable serialized;
const char kKind[] = "fake device";
const char kSerialized[] = "compiled";

}  // namespace

// The functions of the table. Each that may fail begins with TENON_FAKE_CALL.
struct FakeCalls {
  static PJRT_Error* enter(const char* name) {
    if (++fake->calls_ != fake->fail_at_) return nullptr;
    ++fake->alive_["error"];
    return new PJRT_Error{fake->fail_code_, std::string(name) + " was told to fail"};
  }
  template <class T>
  static T* make(const char* kind, T value = {}) {
    ++fake->alive_[kind];
    return new T(std::move(value));
  }
  template <class T>
  static void destroy(const char* kind, T* object) {
    if (object == nullptr) return;
    if (--fake->alive_[kind] < 0) fake->misuse_ += std::string(kind) + " destroyed twice; ";
    const bool needs_client = std::strcmp(kind, "error") != 0 && std::strcmp(kind, "executable") != 0 &&
                              std::strcmp(kind, "topology") != 0 && std::strcmp(kind, "client") != 0;
    if (needs_client && fake->alive_["client"] == 0) fake->misuse_ += std::string(kind) + " outlived its client; ";
    delete object;
  }
  static PJRT_Event* event() { return make<PJRT_Event>("event", {fake->fail_work_}); }
  static void keep_options(const PJRT_NamedValue* values, size_t count) {
    fake->last_options_.clear();
    for (size_t i = 0; i < count; ++i) {
      const PJRT_NamedValue& v = values[i];
      std::string text;
      if (v.type == PJRT_NamedValue_kString) text = std::string(v.string_value, v.value_size);
      if (v.type == PJRT_NamedValue_kInt64) text = "i" + std::to_string(v.int64_value);
      if (v.type == PJRT_NamedValue_kFloat) text = "f" + std::to_string(v.float_value);
      if (v.type == PJRT_NamedValue_kBool) text = v.bool_value ? "true" : "false";
      if (v.type == PJRT_NamedValue_kInt64List) {
        for (size_t k = 0; k < v.value_size; ++k) text += std::to_string(v.int64_array_value[k]) + ",";
      }
      fake->last_options_[std::string(v.name, v.name_size)] = text;
    }
  }
  static void keep_program(const PJRT_Program* program, const char* options, size_t size) {
    fake->last_program_.assign(program->code, program->code_size);
    fake->last_compile_options_.assign(options, size);
  }
  static void fill(PJRT_Api& api);
};

#define TENON_FAKE_CALL(Name) api.PJRT_##Name = [](PJRT_##Name##_Args* args) -> PJRT_Error* {       \
    if (PJRT_Error* told = FakeCalls::enter("PJRT_" #Name)) return told; \
    (void)args;
void FakeCalls::fill(PJRT_Api& api) {
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
  api.PJRT_Error_Destroy = [](PJRT_Error_Destroy_Args* args) { destroy("error", args->error); };
  api.PJRT_Error_Message = [](PJRT_Error_Message_Args* args) {
    args->message = args->error->message.data();
    args->message_size = args->error->message.size();
  };
  api.PJRT_Error_GetCode = [](PJRT_Error_GetCode_Args* args) -> PJRT_Error* {
    args->code = args->error->code;
    return nullptr;
  };
  api.PJRT_Event_Destroy = [](PJRT_Event_Destroy_Args* args) -> PJRT_Error* {
    destroy("event", args->event);
    return nullptr;
  };
  api.PJRT_Buffer_Destroy = [](PJRT_Buffer_Destroy_Args* args) -> PJRT_Error* {
    destroy("buffer", args->buffer);
    return nullptr;
  };
  api.PJRT_LoadedExecutable_Destroy = [](PJRT_LoadedExecutable_Destroy_Args* args) -> PJRT_Error* {
    destroy("loaded", args->executable);
    return nullptr;
  };
  api.PJRT_Executable_Destroy = [](PJRT_Executable_Destroy_Args* args) -> PJRT_Error* {
    destroy("executable", args->executable);
    return nullptr;
  };
  api.PJRT_Client_Destroy = [](PJRT_Client_Destroy_Args* args) -> PJRT_Error* {
    destroy("client", args->client);
    return nullptr;
  };
  api.PJRT_TopologyDescription_Destroy = [](PJRT_TopologyDescription_Destroy_Args* args) -> PJRT_Error* {
    destroy("topology", args->topology);
    return nullptr;
  };
  // clang-format off
  TENON_FAKE_CALL(Plugin_Initialize) return nullptr; };
  TENON_FAKE_CALL(Event_IsReady) args->is_ready = true; return nullptr; };
  TENON_FAKE_CALL(Event_Await)
    if (!args->event->failed) return nullptr;
    return make<PJRT_Error>("error", {PJRT_Error_Code_ABORTED, "the work failed"});
  };
  TENON_FAKE_CALL(Client_Create)
    keep_options(args->create_options, args->num_options);
    args->client = make<PJRT_Client>("client");
    return nullptr;
  };
  TENON_FAKE_CALL(Client_PlatformName) args->platform_name = "fake"; args->platform_name_size = 4; return nullptr; };
  TENON_FAKE_CALL(Client_PlatformVersion)
    args->platform_version = "1.0"; args->platform_version_size = 3;
    return nullptr;
  };
  TENON_FAKE_CALL(Client_AddressableDevices)
    args->addressable_devices = device_list; args->num_addressable_devices = kNumDevices;
    return nullptr;
  };
  TENON_FAKE_CALL(Device_GetDescription) args->device_description = &args->device->description; return nullptr; };
  TENON_FAKE_CALL(DeviceDescription_Id) args->id = args->device_description->id; return nullptr; };
  TENON_FAKE_CALL(DeviceDescription_Kind)
    args->device_kind = kKind; args->device_kind_size = std::strlen(kKind);
    return nullptr;
  };
  TENON_FAKE_CALL(Device_MemoryStats)
    args->bytes_in_use = 100;
    args->peak_bytes_in_use_is_set = fake->peak_.has_value();
    args->peak_bytes_in_use = fake->peak_.value_or(-1) + args->device->description.id;
    args->bytes_limit_is_set = true; args->bytes_limit = 1000;
    return nullptr;
  };
  TENON_FAKE_CALL(Client_BufferFromHostBuffer)
    const auto* data = static_cast<const char*>(args->data);
    size_t size = 4;
    for (size_t i = 0; i < args->num_dims; ++i) size *= static_cast<size_t>(args->dims[i]);
    args->buffer = make<PJRT_Buffer>("buffer", {args->type, {args->dims, args->dims + args->num_dims}, {data, data + size}});
    args->done_with_host_buffer = event();
    return nullptr;
  };
  TENON_FAKE_CALL(Buffer_ElementType) args->type = args->buffer->type; return nullptr; };
  TENON_FAKE_CALL(Buffer_Dimensions)
    args->dims = args->buffer->dims.data(); args->num_dims = args->buffer->dims.size();
    return nullptr;
  };
  TENON_FAKE_CALL(Buffer_ReadyEvent) args->event = event(); return nullptr; };
  TENON_FAKE_CALL(Buffer_ToHostBuffer)
    std::memcpy(args->dst, args->src->bytes.data(), args->src->bytes.size());
    args->event = event();
    return nullptr;
  };
  TENON_FAKE_CALL(Client_Compile)
    keep_program(args->program, args->compile_options, args->compile_options_size);
    args->executable = make<PJRT_LoadedExecutable>("loaded");
    return nullptr;
  };
  TENON_FAKE_CALL(LoadedExecutable_GetExecutable)
    args->executable = make<PJRT_Executable>("executable");
    return nullptr;
  };
  TENON_FAKE_CALL(LoadedExecutable_AddressableDevices)
    args->addressable_devices = device_list; args->num_addressable_devices = kNumDevices;
    return nullptr;
  };
  TENON_FAKE_CALL(Executable_NumOutputs) args->num_outputs = 1; return nullptr; };
  TENON_FAKE_CALL(Executable_GetCompiledMemoryStats) args->temp_size_in_bytes = 12; return nullptr; };
  TENON_FAKE_CALL(Executable_Serialize)
    args->serialized_bytes = kSerialized; args->serialized_bytes_size = std::strlen(kSerialized);
    args->serialized_executable = &serialized;
    args->serialized_executable_deleter = [](PJRT_SerializedExecutable*) { --fake->alive_["serialized"]; };
    ++fake->alive_["serialized"];
    return nullptr;
  };
  TENON_FAKE_CALL(Executable_DeserializeAndLoad)
    args->loaded_executable = make<PJRT_LoadedExecutable>("loaded");
    return nullptr;
  };
  TENON_FAKE_CALL(LoadedExecutable_Execute)
    for (size_t d = 0; d < args->num_devices; ++d) {
      args->output_lists[d][0] = make<PJRT_Buffer>("buffer", *args->argument_lists[d][0]);
    }
    return nullptr;
  };
  TENON_FAKE_CALL(TopologyDescription_Create)
    keep_options(args->create_options, args->num_options);
    args->topology = make<PJRT_TopologyDescription>("topology");
    return nullptr;
  };
  TENON_FAKE_CALL(TopologyDescription_GetDeviceDescriptions)
    args->descriptions = description_list; args->num_descriptions = kNumDevices;
    return nullptr;
  };
  TENON_FAKE_CALL(Compile)
    keep_program(args->program, args->compile_options, args->compile_options_size);
    args->executable = make<PJRT_Executable>("executable");
    return nullptr;
  };
// clang-format on
}
#undef TENON_FAKE_CALL

FakeApi::FakeApi() {
  fake = this;
  FakeCalls::fill(api_);
}

FakeApi::~FakeApi() { fake = nullptr; }

int FakeApi::total_alive() const {
  int total = 0;
  for (const auto& [kind, count] : alive_) total += count;
  return total;
}

}  // namespace tenon::pjrt
