// What a program on the CPU takes beside the compiler's account of memory.
#pragma once

#include <cstdint>

#include "tenon/pjrt/hlo_module.h"

namespace tenon {

// Bytes on one of `num_devices` devices of a machine with `num_cores` cores, at most: copies of their operands that the
// three largest products of a computation pack at once, what every thread keeps for attention, and the runtime's own
// lists. Accelerators need no such thing: there all of it is the compiler's.
int64_t cpu_workspace(const pjrt::HloModule& module, int64_t num_devices, int64_t num_cores);

}  // namespace tenon
