#include "tenon/base/plugin_library.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <string_view>

#include "tenon/base/error.h"

namespace tenon {

namespace {

// Whether this code lies in the program itself, not in a library that plug-ins could link too.
bool is_in_program() {
  Dl_info here{}, program{};
  const auto* headers = reinterpret_cast<const void*>(getauxval(AT_PHDR));  // NOLINT: an address as a number
  return dladdr(reinterpret_cast<const void*>(&load_plugin_library), &here) != 0 && dladdr(headers, &program) != 0 &&
         here.dli_fbase == program.dli_fbase;
}

}  // namespace

void* load_plugin_library(const std::string& path, const char* symbol) {
  const auto fail = [&](std::string what) { return Error(ErrorCode::plugin, std::move(what)).at(path); };
  if (is_in_program()) {  // it would bring a second registry, or not load
    throw Error(ErrorCode::unsupported, "this tenon is one file, without the libraries that plug-ins link")
        .at(path)
        .hint("use one that was installed: cmake --install");
  }
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
