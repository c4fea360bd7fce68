// Constant folding: what can be computed from constants alone is, by the reference interpreter.
#pragma once

#include "tenon/passes/simplify.h"

namespace tenon {

// A rule of simplify, so that folding and rewriting work on each other's results. It takes only ops whose result every
// backend agrees on to the bit: arithmetic that IEEE 754 rounds, comparisons, conversions, moves of elements. Arrays of
// one value stay a broadcast of a scalar and iotas stay iotas; otherwise a result has at most 8 elements, so the
// program's text never grows by more than a line.
std::span<const SimplifyRule> constant_rules();

}  // namespace tenon
