// Casts of what a loop only reads, once and before it.
#pragma once

#include "tenon/ir/trace.h"

namespace tenon {

// A conversion to fewer bytes that a scan does in every step, of a slice of an array that it reads in no other way or
// of a value from outside, is done once, of the whole, in front of the scan: parameters of a stack of layers are cast
// once, and the loop reads and gathers the small ones.
void cast_outside_loops(Graph& graph);

}  // namespace tenon
