#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/pjrt/installed_jax.h"
#include "tenon/pjrt/plugin.h"

namespace tenon::pjrt {
namespace {

// The plugin among the files of a folder: the only library there, or the one that has "pjrt" or "libtpu" in its name.
std::optional<std::string> plugin_in(const std::string& folder) {
  Result<std::vector<std::string>> names = list_dir(folder);
  if (!names) return std::nullopt;
  std::erase_if(*names, [](const std::string& n) { return !n.ends_with(".so"); });
  for (const std::string& name : *names) {
    if (name.find("pjrt") != std::string::npos || name == "libtpu.so") return join_path(folder, name);
  }
  if (names->size() != 1) return std::nullopt;
  return join_path(folder, names->front());
}

// The folder of the library or binary this code is in.
std::string own_folder() {
  Dl_info info{};
  std::error_code failed;
  if (dladdr(reinterpret_cast<const void*>(&plugin_in), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::filesystem::path self = std::filesystem::canonical(info.dli_fname, failed);
  return failed ? "." : self.parent_path().string();
}

Error no_plugin(std::string_view platform, const std::vector<std::string>& tried) {
  if (!is_known_platform(platform)) {
    return Error(ErrorCode::plugin, fmt::format("there is no PJRT plugin for platform {}", platform))
        .got(fmt::format("none in {}", join(tried, ", ")))
        .hint("name its file in the device's (plugin = ...), or set TENON_PLUGIN_PATH to it");
  }
  const std::string command = platform == "cpu" ? "scripts/setup" : fmt::format("scripts/setup --target {}", platform);
  return Error(ErrorCode::plugin, fmt::format("there is no PJRT plugin for platform {}", platform))
      .got(fmt::format("none in {}, and none that jax brought", join(tried, ", ")))
      .hint(fmt::format("install it with {}, or set TENON_PLUGIN_PATH to its file", command));
}

}  // namespace

const std::vector<std::string>& known_platforms() {
  static const auto* platforms = new std::vector<std::string>{"cpu", "cuda", "tpu", "rocm"};
  return *platforms;
}

bool is_known_platform(std::string_view platform) {
  const std::vector<std::string>& known = known_platforms();
  return std::find(known.begin(), known.end(), platform) != known.end();
}

Result<std::string> find_plugin(std::string_view platform) {
  const std::vector<std::string>& known = known_platforms();
  if (is_known_platform(platform)) return find_any_plugin(platform);
  return Error(ErrorCode::unknown_name, fmt::format("no platform is called \"{}\"", platform))
      .expected(join(known, ", "))
      .hint(did_you_mean(platform, known));
}

Result<std::string> find_any_plugin(std::string_view platform) {
  std::vector<std::string> folders;
  if (const char* user = std::getenv("TENON_PLUGIN_PATH"); user != nullptr && *user != '\0') {
    if (!exists(user)) {
      return Error(ErrorCode::plugin, "TENON_PLUGIN_PATH names a file that isn't there").at(user);
    }
    if (!is_dir(user)) return std::string(user);
    folders.push_back(join_path(user, platform));
  }
  folders.push_back(fmt::format("{}/plugins/{}", TENON_DEPS_DIR, platform));
  // Installed: libtenon lies in <prefix>/lib or, on Debian, <prefix>/lib/<machine>.
  for (const char* up : {"", "/.."}) {
    folders.push_back(fmt::format("{}{}/tenon/plugins/{}", own_folder(), up, platform));
  }
  for (const std::string& folder : folders) {
    if (std::optional<std::string> file = plugin_in(folder)) return *file;
  }
  if (std::string installed = plugin_of_jax(platform); !installed.empty()) return installed;
  return no_plugin(platform, folders);
}

}  // namespace tenon::pjrt
