#include "tenon/base/plugin_library.h"

#include <dlfcn.h>

#include <string_view>

#include "tenon/base/error.h"

namespace tenon {

void* load_plugin_library(const std::string& path, const char* symbol) {
  const auto fail = [&](std::string what) { return Error(ErrorCode::plugin, std::move(what)).at(path); };
  // A bare name would be searched for in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw fail(std::string("the library can't be loaded: ") + dlerror());
  const auto abi = reinterpret_cast<const char* (*)()>(dlsym(library, "tenon_plugin_abi"));
  if (abi == nullptr)
    throw fail("the library is no plug-in: it lacks the ABI tag").hint("write TENON_PLUGIN_ABI in one of its files");
  if (std::string_view(abi()) != kPluginAbi) {
    throw fail("the library was built against another Tenon")
        .got(abi())
        .expected(kPluginAbi)
        .hint("build it again against this one");
  }
  void* address = dlsym(library, symbol);
  if (address == nullptr) throw fail(std::string("the library doesn't export ") + symbol);
  return address;
}

}  // namespace tenon
