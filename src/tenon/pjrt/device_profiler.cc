#include "tenon/pjrt/device_profiler.h"

#include <fmt/format.h>

#include <utility>

#include "tenon/pjrt/profiler_api.h"

namespace tenon::pjrt {

using profiler::Api;

namespace {

// A `tensorflow.ProfileOptions`: version (field 5) 1, host level (2) 2, device level (3) 1, the programs too (7).
constexpr std::string_view kOptions = "\x28\x01\x10\x02\x18\x01\x38\x01";

// The message in `bytes`, behind which plugins leave a byte that is 0: no field begins so.
std::string without_padding(std::string bytes) {
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; at < bytes.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  constexpr uint64_t kLengthDelimited = 2;  // the only kind of field there is at the top
  while (at + 1 < bytes.size() && (varint() & 7) == kLengthDelimited) {
    const uint64_t length = varint();
    if (length > bytes.size() - at) return bytes;
    at += length;
  }
  if (at + 1 == bytes.size() && bytes.back() == 0) bytes.pop_back();
  return bytes;
}

}  // namespace

struct DeviceProfiler::Impl {
  std::shared_ptr<const Plugin> plugin;
  const Api* api = nullptr;
  profiler::Handle* handle = nullptr;

  // What the answer means; frees it.
  Status check(profiler::PluginError* error, std::string_view doing) const {
    if (error == nullptr) return {};
    profiler::ErrorMessageArgs words{sizeof(words), nullptr, error, nullptr, 0};
    api->error_message(&words);
    Error result(ErrorCode::plugin, fmt::format("the plugin's profiler failed to {}: {}", doing,
                                                std::string_view(words.message, words.message_size)));
    profiler::ErrorDestroyArgs destroy{sizeof(destroy), nullptr, error};
    api->error_destroy(&destroy);
    return result;
  }
  Status call(profiler::PluginError* (*function)(profiler::HandleArgs*), std::string_view doing) const {
    profiler::HandleArgs args{sizeof(args), handle};
    return check(function(&args), doing);
  }
};

DeviceProfiler::DeviceProfiler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

DeviceProfiler::~DeviceProfiler() {
  if (impl_->handle != nullptr) (void)impl_->call(impl_->api->destroy, "end").ok();
}

Result<std::unique_ptr<DeviceProfiler>> DeviceProfiler::start(std::shared_ptr<const Plugin> plugin) {
  const auto* extension = static_cast<const profiler::Extension*>(plugin->extension(PJRT_Extension_Type_Profiler));
  const Api* api = extension == nullptr || extension->base.struct_size < sizeof(profiler::Extension) - sizeof(int64_t)
                       ? nullptr
                       : extension->api;
  if (api == nullptr || api->struct_size < sizeof(Api)) {
    return Error(ErrorCode::unsupported, "the plugin has no profiler").at(plugin->path());
  }
  auto impl = std::make_unique<Impl>(Impl{std::move(plugin), api, nullptr});
  profiler::CreateArgs args{sizeof(args), kOptions.data(), kOptions.size(), nullptr};
  if (Status s = impl->check(api->create(&args), "begin"); !s) return s.error();
  impl->handle = args.profiler;
  std::unique_ptr<DeviceProfiler> result(new DeviceProfiler(std::move(impl)));
  if (Status s = result->impl_->call(api->start, "start"); !s) return s.error();
  return result;
}

Result<std::string> DeviceProfiler::stop() {
  const Api& api = *impl_->api;
  if (Status s = impl_->call(api.stop, "stop"); !s) return s.error();
  profiler::CollectArgs args{sizeof(args), impl_->handle, nullptr, 0};
  if (Status s = impl_->check(api.collect_data(&args), "give what it has"); !s) return s.error();
  if (args.buffer != nullptr) {
    return without_padding(std::string(reinterpret_cast<const char*>(args.buffer), args.buffer_size));
  }
  std::string bytes(args.buffer_size, '\0');
  if (bytes.empty()) return bytes;
  args.buffer = reinterpret_cast<uint8_t*>(bytes.data());
  if (Status s = impl_->check(api.collect_data(&args), "give what it has"); !s) return s.error();
  return bytes;
}

}  // namespace tenon::pjrt
