// A guard against miscompilations by XLA of starts out of bounds: https://github.com/openxla/xla/issues/49121 (slices
// of slices, updates of slices), 49120 (copies on GPUs), 49122 (slices split over devices).
#pragma once

#include "tenon/ir/trace.h"

namespace tenon {

// Clamps the starts of dynamic slices, of updates and of gathers of one slice, unless they are known to be in bounds:
// XLA would do it too, but not where it merges one slice with another.
void guard_slice_starts(Graph& graph);

}  // namespace tenon
