// Loading a user's shared library that adds to Tenon.
#pragma once

#include <string>

namespace tenon {

// Changes whenever a library built against other headers could misread this one's objects. A plug-in exports it as
// `extern "C" const char* tenon_plugin_abi()`; it is compared before anything else of the library is called.
inline constexpr const char* kPluginAbi = "tenon-0.1.0";

// Opens `path` for the life of the process and returns the address of `symbol`. Throws `plugin` when the library can't
// be loaded, lacks the ABI tag or the symbol, or was built against another Tenon; `unsupported` where Tenon's libraries
// are part of the program (tenon_portable).
void* load_plugin_library(const std::string& path, const char* symbol);

}  // namespace tenon

// In one .cc of a plug-in library, at global scope.
#define TENON_PLUGIN_ABI \
  extern "C" const char* tenon_plugin_abi() { return ::tenon::kPluginAbi; }
