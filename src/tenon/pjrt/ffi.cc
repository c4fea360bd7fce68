#include "tenon/pjrt/ffi.h"

#include <fmt/format.h>

#include <cstddef>

#include "tenon/pjrt/c_api.h"

namespace tenon::pjrt {
namespace {

// The FFI extension, version 3, as far as it is used; the header at hand doesn't declare it.
struct RegisterHandlerArgs {
  size_t struct_size;
  const char* target_name;
  size_t target_name_size;
  void* handler;
  const char* platform_name;
  size_t platform_name_size;
  int traits;
};
struct FfiExtension {
  PJRT_Extension_Base base;
  void* type_register;
  void* user_data_add;
  PJRT_Error* (*register_handler)(RegisterHandlerArgs*);
};

}  // namespace

Status register_ffi_handler(const Plugin& plugin, const std::string& name, const std::string& platform, void* handler) {
  const auto* extension = static_cast<const FfiExtension*>(plugin.extension(PJRT_Extension_Type_FFI));
  if (extension == nullptr || extension->base.struct_size < sizeof(FfiExtension)) {
    return Error(ErrorCode::unsupported,
                 fmt::format("plugin {} can't run own kernels: it has no FFI extension", plugin.path()));
  }
  RegisterHandlerArgs args{};
  args.struct_size = offsetof(RegisterHandlerArgs, traits) + sizeof(args.traits);
  args.target_name = name.data();
  args.target_name_size = name.size();
  args.handler = handler;
  args.platform_name = platform.data();
  args.platform_name_size = platform.size();
  return to_status(plugin.api(), extension->register_handler(&args), fmt::format("register kernel \"{}\"", name));
}

}  // namespace tenon::pjrt
