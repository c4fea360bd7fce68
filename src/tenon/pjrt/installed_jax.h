// Private to this folder: plugins and libraries that Python packages brought, found without running Python.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::pjrt {

// The folders that Python's packages are in: those of the active virtual or conda environment, of each python3 on PATH,
// of the user and of the system; only those that exist, each once, first the ones that Python would prefer.
std::vector<std::string> python_package_folders();

// Where jax's wheels put the plugin of a platform, in one of those folders; "" where none did. Of CUDA's the newest.
std::string plugin_of_jax(std::string_view platform);

// The folder `nvidia` that a CUDA plugin's libraries are in: beside it, or that of the packages it is installed among;
// "" when neither is there.
std::string nvidia_folder(const std::string& plugin_file);

}  // namespace tenon::pjrt
