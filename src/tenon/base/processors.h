// The processors of this machine.
#pragma once

#include <cstdint>

namespace tenon {

// How many this process may use (its affinity, as a container or taskset sets it), at least 1.
int64_t num_processors();

}  // namespace tenon
