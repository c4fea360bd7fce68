// Memory of this process as its allocations have it: those of the plugins too.
#pragma once

#include <cstdint>

namespace tenon {

// Bytes that are allocated now, and the most there were since the last reset.
int64_t allocated_bytes();
int64_t peak_allocated_bytes();
void reset_peak();

}  // namespace tenon
