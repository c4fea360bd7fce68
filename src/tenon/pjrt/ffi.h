// Own kernels: handlers that programs reach by `stablehlo.custom_call @name(…) {api_version = 4 : i32}`.
#pragma once

#include <string>

#include "tenon/base/result.h"
#include "tenon/pjrt/plugin.h"

namespace tenon::pjrt {

// Makes `handler`, an XLA_FFI_Handler* (made with XLA_FFI_DEFINE_HANDLER), known as `name` on `platform` ("Host" for
// the CPU, "CUDA", "ROCM"). Lasts as long as the process. Errors: `unsupported` when the plugin has no FFI, `plugin`
// with its words (another handler has the name, handler built against a newer API).
Status register_ffi_handler(const Plugin& plugin, const std::string& name, const std::string& platform, void* handler);

}  // namespace tenon::pjrt
