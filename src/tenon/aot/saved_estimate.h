// What the forward pass keeps for the backward one, read from a program that no compiler has seen.
#pragma once

#include "tenon/aot/liveness.h"
#include "tenon/ir/trace.h"

namespace tenon {

// The arrays that one scan stacks and another reads, largest first: each as if it were split over all `num_devices`, so
// that a device holds at least that; in a `manual` region, as one device has it. Arrays of several loops need not be
// there at once. Without loops over layers there are none.
PeakMemory estimate_saved(const Graph& graph, int64_t num_devices);

}  // namespace tenon
