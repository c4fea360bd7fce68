#include "tenon/trainer/machine_memory.h"

#include "tenon/base/process_memory.h"
#include "tenon/base/text.h"

namespace tenon {

void require_machine_memory(const std::string& what, int64_t bytes, const Backend& backend, const std::string& hint) {
  if (backend.platform() != "cpu") return;
  const int64_t needed = bytes * backend.num_devices(), limit = memory_limit();
  if (needed <= limit) return;
  throw Error(ErrorCode::out_of_memory, what + " takes more memory than this machine has")
      .got(format_bytes(static_cast<uint64_t>(needed)))
      .expected("at most " + format_bytes(static_cast<uint64_t>(limit)))
      .hint(hint);
}

}  // namespace tenon
