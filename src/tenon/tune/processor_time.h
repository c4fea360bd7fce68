// Time that processors have spent on this process.
#pragma once

namespace tenon {

// In user code and the kernel, all threads together, since the process began. Unlike the clock's, differences of it
// depend little on what else runs on the machine.
double processor_seconds();
// How many processors this process may use.
int num_processors();

}  // namespace tenon
