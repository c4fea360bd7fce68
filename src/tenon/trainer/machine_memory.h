// Whether programs fit into the memory of the machine that they run on.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/runtime/backend.h"

namespace tenon {

// Throws `out_of_memory` where `bytes` on each device are more than there are. The CPU's devices share the machine's
// memory, which the system gives and then ends the process for; others are left to their own allocators. `what` takes
// it: "a step".
void require_machine_memory(const std::string& what, int64_t bytes, const Backend& backend, const std::string& hint);

}  // namespace tenon
