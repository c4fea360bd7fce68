// The order of a region's ops, as a function of what they compute.
#pragma once

#include <vector>

#include "tenon/ir/trace.h"

namespace tenon {

// The ops of `region` in the order in which a walk from its results meets them, each after what it reads: operands from
// first to last, then what its regions capture. What the results don't need comes last. In which order the ops were
// traced doesn't matter, so neither does the order in which a C++ compiler evaluates `f(x) + g(y)`.
std::vector<OpId> canonical_order(const Trace& trace, RegionId region);

}  // namespace tenon
