// A guard against a miscompilation by XLA's CPU compiler: https://github.com/openxla/xla/issues/49176.
#pragma once

#include "tenon/ir/trace.h"

namespace tenon {

// Puts a barrier in front of an update that is computed, element by element, from the very array it goes into: fused
// with the writing, it would read what has been overwritten already.
void guard_own_slices(Graph& graph);

}  // namespace tenon
