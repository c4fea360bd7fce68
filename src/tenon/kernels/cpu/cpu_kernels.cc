#include "tenon/kernels/cpu/cpu_kernels.h"

#include "tenon/kernels/cpu/attention_call.h"
#include "tenon/pjrt/ffi.h"

namespace tenon {

const KernelList& cpu_kernels() {
  static const KernelList list = attention_kernels();
  return list;
}

Status register_cpu_kernels(const pjrt::Plugin& plugin) {
  for (const auto& [name, handler] : attention_handlers()) {
    const Status status = pjrt::register_ffi_handler(plugin, name, "Host", handler);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace tenon
