// Constant folding: what can be computed from constants alone is, by the reference interpreter.
#pragma once

#include "tenon/ir/trace.h"

namespace tenon {

// Only ops whose result every backend agrees on to the bit: arithmetic that IEEE 754 rounds, comparisons, conversions,
// moves of elements. Arrays of one value stay a broadcast of a scalar and iotas stay iotas; otherwise a result has at
// most 8 elements, so the program's text never grows by more than a line.
void fold_constants(Graph& graph);

}  // namespace tenon
