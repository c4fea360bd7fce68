// A PJRT plugin: a shared library that compiles and runs StableHLO on one kind of hardware.
//
// Plugins are loaded once per process and never unloaded (they own threads and registries). Several can be loaded at
// once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/base/result.h"

struct PJRT_Api;

namespace tenon::pjrt {

// A value of a client, topology or plugin attribute.
using OptionValue = std::variant<std::string, int64_t, std::vector<int64_t>, float, bool>;
using Options = std::map<std::string, OptionValue>;

struct ApiVersion {
  int major = 0, minor = 0;
  bool operator==(const ApiVersion&) const = default;
};

class Plugin {
 public:
  // Loads and initializes the library at `path`; the same path gives the same plugin again. `platform` ("cpu", "cuda",
  // "tpu", "rocm", or "" for another) selects what must be prepared first: NVIDIA's libraries are loaded from the
  // folder `nvidia` beside the plugin or, for a plugin of jax's, from the packages it is among; environment variables
  // that the plugin needs are set unless the user did.
  // Errors: `plugin`, with the loader's or plugin's own words, or when it shows to be another platform's.
  static Result<std::shared_ptr<const Plugin>> load(const std::string& path, std::string_view platform = "");
  // Finds and loads the plugin of a platform (see find_plugin).
  static Result<std::shared_ptr<const Plugin>> open(std::string_view platform);
  // Wraps a table of functions that is already there (a fake one in tests, a plugin linked in). It must outlive every
  // use. Checks the version and calls its initializer.
  static Result<std::shared_ptr<const Plugin>> from_api(const PJRT_Api* api, std::string name,
                                                        std::string platform = "");

  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const PJRT_Api* api() const { return api_; }
  // Where it was loaded from, or the name given to from_api.
  const std::string& path() const { return path_; }
  // The platform it was opened for; may be "".
  const std::string& platform() const { return platform_; }
  ApiVersion api_version() const;
  // What the plugin says of itself: `xla_version`, `stablehlo_current_version`, …
  Result<Options> attributes() const;
  // The extension of this type number, or null: everything beyond the basic table is optional.
  const void* extension(int type) const;
  // Identifies the plugin's bytes: sha256 of the file, kept in the cache folder by path, size and time of change. For
  // from_api, a hash of its name.
  Result<std::string> fingerprint() const;

 private:
  Plugin(const PJRT_Api* api, std::string path, std::string platform);
  static Result<std::shared_ptr<const Plugin>> start(const PJRT_Api* api, std::string path, std::string platform);

  const PJRT_Api* api_;
  std::string path_, platform_;
};

// The platforms whose plugins find_plugin knows: cpu, cuda, tpu, rocm.
const std::vector<std::string>& known_platforms();
bool is_known_platform(std::string_view platform);

// Says that the plugin at `path`, opened for `wanted`, is for `shown`; and what to do where the user named its file.
Error another_platform(const std::string& path, std::string_view shown, std::string_view wanted);

// The file of a platform's plugin. Looked for in this order:
//   1. $TENON_PLUGIN_PATH: a plugin file, or a folder that holds `<platform>/*.so`
//   2. the folder that scripts/setup unpacks to, compiled in
//   3. `tenon/plugins/<platform>` beside libtenon or one folder up: where it is installed
//   4. cuda and tpu: where pip installed it for jax (plugin_of_jax)
// Errors: `unknown_name` for a platform that isn't known; `plugin` when there is none, with how to install it.
Result<std::string> find_plugin(std::string_view platform);
// The same for a platform of any name.
Result<std::string> find_any_plugin(std::string_view platform);

}  // namespace tenon::pjrt
