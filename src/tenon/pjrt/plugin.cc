#include "tenon/pjrt/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <mutex>

#include "tenon/base/hash.h"
#include "tenon/pjrt/c_api.h"
#include "tenon/pjrt/environment.h"
#include "tenon/pjrt/fingerprint.h"
#include "tenon/pjrt/shown_platform.h"

namespace tenon::pjrt {
namespace {

constexpr ApiVersion kOldest{PJRT_API_MAJOR, PJRT_API_MINOR};

struct Loaded {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Plugin>> by_path;
};

// Never destroyed: clients may outlive static objects.
Loaded& loaded() {
  static auto* instance = new Loaded;
  return *instance;
}

OptionValue to_option(const PJRT_NamedValue& value) {
  switch (number_of(value.type)) {
    case PJRT_NamedValue_kString:
      return std::string(value.string_value, value.value_size);
    case PJRT_NamedValue_kInt64:
      return value.int64_value;
    case PJRT_NamedValue_kInt64List:
      return std::vector<int64_t>(value.int64_array_value, value.int64_array_value + value.value_size);
    case PJRT_NamedValue_kFloat:
      return value.float_value;
    case PJRT_NamedValue_kBool:
      return value.bool_value;
  }
  return fmt::format("value of unknown type {}", number_of(value.type));
}

Status check_version(const PJRT_Api& api, const std::string& path) {
  if (api.struct_size < PJRT_STRUCT_SIZE(PJRT_Api, pjrt_api_version)) {
    return Error(ErrorCode::plugin, "not a PJRT plugin: its function table is too short").at(path);
  }
  const int major = api.pjrt_api_version.major_version, minor = api.pjrt_api_version.minor_version;
  if (major != kOldest.major || minor < kOldest.minor || api.struct_size < PJRT_Api_STRUCT_SIZE) {
    return Error(ErrorCode::plugin, "the PJRT plugin doesn't speak this API")
        .at(path)
        .got(fmt::format("version {}.{}", major, minor))
        .expected(fmt::format("version {}.{} or newer of {}.x", kOldest.major, kOldest.minor, kOldest.major))
        .hint("install the plugins this build was made for: scripts/setup");
  }
  return {};
}

}  // namespace

Plugin::Plugin(const PJRT_Api* api, std::string path, std::string platform)
    : api_(api), path_(std::move(path)), platform_(std::move(platform)) {}

Result<std::shared_ptr<const Plugin>> Plugin::start(const PJRT_Api* api, std::string path, std::string platform) {
  if (api == nullptr) return Error(ErrorCode::plugin, "the plugin gave no function table").at(path);
  if (Status s = check_version(*api, path); !s) return s.error();
  const std::string shown = shown_platform(api);
  if (Status s = check_platform(shown, platform, path); !s) return s.error();
  if (!shown.empty() && shown != platform) prepare_process(shown, path);
  TENON_PJRT_ARGS(Plugin_Initialize, args);
  if (Status s = to_status(api, api->PJRT_Plugin_Initialize(&args), "initialize"); !s) {
    return Error(s.error()).at(path);
  }
  return std::shared_ptr<const Plugin>(new Plugin(api, std::move(path), std::move(platform)));
}

Result<std::shared_ptr<const Plugin>> Plugin::load(const std::string& path, std::string_view platform) {
  Loaded& all = loaded();
  const std::lock_guard lock(all.mutex);
  if (const auto it = all.by_path.find(path); it != all.by_path.end()) {
    if (Status s = check_platform(shown_platform(it->second->api()), platform, path); !s) return s.error();
    return it->second;
  }
  prepare_process(platform, path);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error(ErrorCode::plugin, fmt::format("the plugin can't be loaded: {}", dlerror())).at(path);
  }
  const auto get = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  if (get == nullptr) return Error(ErrorCode::plugin, "not a PJRT plugin: it has no function GetPjrtApi").at(path);
  Result<std::shared_ptr<const Plugin>> plugin = start(get(), path, std::string(platform));
  if (plugin) all.by_path.emplace(path, *plugin);
  return plugin;
}

Result<std::shared_ptr<const Plugin>> Plugin::open(std::string_view platform) {
  Result<std::string> path = find_plugin(platform);
  if (!path) return path.error();
  return load(*path, platform);
}

Result<std::shared_ptr<const Plugin>> Plugin::from_api(const PJRT_Api* api, std::string name, std::string platform) {
  return start(api, std::move(name), std::move(platform));
}

ApiVersion Plugin::api_version() const {
  return {api_->pjrt_api_version.major_version, api_->pjrt_api_version.minor_version};
}

Result<Options> Plugin::attributes() const {
  TENON_PJRT_ARGS(Plugin_Attributes, args);
  if (Status s = to_status(api_, api_->PJRT_Plugin_Attributes(&args), "describe itself"); !s) return s.error();
  Options result;
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue& value = args.attributes[i];
    result.emplace(std::string(value.name, value.name_size), to_option(value));
  }
  return result;
}

const void* Plugin::extension(int type) const { return find_extension(api_, type); }

Result<std::string> Plugin::fingerprint() const {
  const std::string& path = path_;
  if (path.find('/') == std::string::npos) return sha256_hex(path);
  return file_fingerprint(path);
}

}  // namespace tenon::pjrt
