// The speeds of this machine's virtual devices, measured.
#pragma once

#include <cstdint>

#include "tenon/tune/cost.h"

namespace tenon {

// Compiles and times six small programs on cpu:`num_devices`, in which all devices work at once, so that what they
// share counts: loops over nearly nothing, over norms and gates of 1 MiB arrays, over products of 256 x 256 in f32 and
// in bf16, over all-reduces of 4 KiB and of 4 MiB. Each is counted as a step is (StepCounts), and what it takes beyond
// what the others explain gives one speed. One device has no all-reduces. Takes seconds. Throws what compiling and
// running throw.
MachineSpeeds calibrate_cpu(int64_t num_devices);

}  // namespace tenon
