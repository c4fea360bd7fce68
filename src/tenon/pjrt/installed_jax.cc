#include "tenon/pjrt/installed_jax.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "tenon/base/text.h"

namespace tenon::pjrt {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Adds PREFIX/lib/python3*/{site,dist}-packages, newest Python first.
void add_packages_below(const fs::path& prefix, std::vector<std::string>& folders) {
  std::error_code failed;
  std::vector<fs::path> versions;
  for (fs::directory_iterator it(prefix / "lib", failed), end; !failed && it != end; it.increment(failed)) {
    if (it->path().filename().string().starts_with("python3")) versions.push_back(it->path());
  }
  const auto newest_first = [](const fs::path& a, const fs::path& b) {  // python3.9 is older than python3.11
    const std::string x = a.filename().string(), y = b.filename().string();
    return x.size() != y.size() ? x.size() > y.size() : x > y;
  };
  std::sort(versions.begin(), versions.end(), newest_first);
  for (const fs::path& version : versions) {
    for (const char* kind : {"site-packages", "dist-packages"}) {
      const std::string folder = (version / kind).lexically_normal().string();
      std::error_code unknown;
      if (!fs::is_directory(folder, unknown)) continue;
      if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
    }
  }
}

}  // namespace

std::vector<std::string> python_package_folders() {
  std::vector<std::string> folders;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string prefix = variable(name); !prefix.empty()) add_packages_below(prefix, folders);
  }
  for (const std::string& bin : split(variable("PATH"), ':')) {
    std::error_code unknown;
    if (!bin.empty() && fs::exists(fs::path(bin) / "python3", unknown)) add_packages_below(bin + "/..", folders);
  }
  if (const std::string home = variable("HOME"); !home.empty()) add_packages_below(home + "/.local", folders);
  for (const char* prefix : {"/usr/local", "/usr"}) add_packages_below(prefix, folders);
  return folders;
}

std::string plugin_of_jax(std::string_view platform) {
  std::vector<std::string> files;
  if (platform == "cuda") {
    files = {"jax_plugins/xla_cuda13/xla_cuda_plugin.so", "jax_plugins/xla_cuda12/xla_cuda_plugin.so"};
  }
  if (platform == "rocm") files = {"jax_plugins/xla_rocm7/xla_rocm_plugin.so"};
  if (platform == "tpu") files = {"libtpu/libtpu.so"};
  if (files.empty()) return "";
  for (const std::string& folder : python_package_folders()) {
    for (const std::string& file : files) {
      std::error_code unknown;
      const fs::path path = fs::path(folder) / file;
      if (fs::exists(path, unknown)) return path.string();
    }
  }
  return "";
}

std::string nvidia_folder(const std::string& plugin_file) {
  const fs::path beside = fs::path(plugin_file).parent_path();
  std::error_code unknown;
  if (fs::is_directory(beside / "nvidia", unknown)) return (beside / "nvidia").string();
  // <packages>/jax_plugins/xla_cuda13/xla_cuda_plugin.so, <packages>/nvidia
  const fs::path plugins = beside.parent_path();
  const fs::path packages = plugins.parent_path() / "nvidia";
  return plugins.filename() == "jax_plugins" && fs::is_directory(packages, unknown) ? packages.string() : "";
}

}  // namespace tenon::pjrt
