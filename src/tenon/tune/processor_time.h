// Time that processors have spent on this process.
#pragma once

#include <cstdint>

namespace tenon {

// In user code and the kernel, all threads together, since the process began. Differences of it depend less
// on what else runs on the machine than the clock's.
double processor_seconds();
// How many processors can work for so many virtual devices: one each, of those that this process may use.
double processors_for(int64_t num_devices);

}  // namespace tenon
