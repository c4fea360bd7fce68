// The reference interpreter: what a graph means, in plain loops on the host. Floats are computed in double and rounded
// to the dtype at every op, so its results don't depend on loop form, fusion or the order of compilation.
#pragma once

#include <span>
#include <vector>

#include "tenon/ir/trace.h"

namespace tenon {

// Called with every value an op makes, in order of execution; in manual regions once for every device, one at a time.
using Observer = std::function<void(const OpInfo& op, std::span<const Literal> results)>;

// Runs `graph` on `args`. Throws `shape_mismatch` when their types aren't those of its parameters.
std::vector<Literal> interpret(const Graph& graph, std::span<const Literal> args, const Observer& observer = {});

}  // namespace tenon
