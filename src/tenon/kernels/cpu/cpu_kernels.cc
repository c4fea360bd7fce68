#include "tenon/kernels/cpu/cpu_kernels.h"

#include "tenon/kernels/cpu/attention_call.h"
#include "tenon/kernels/cpu/dot_call.h"
#include "tenon/pjrt/ffi.h"

namespace tenon {

const KernelList& cpu_kernels() {
  static const KernelList list = [] {
    KernelList all = attention_kernels();
    for (const KernelImplementation& k : dot_kernels()) all.push_back(k);
    return all;
  }();
  return list;
}

Status register_cpu_kernels(const pjrt::Plugin& plugin) {
  std::map<std::string, void*> handlers = attention_handlers();
  handlers.merge(dot_handlers());
  for (const auto& [name, handler] : handlers) {
    const Status status = pjrt::register_ffi_handler(plugin, name, "Host", handler);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace tenon
