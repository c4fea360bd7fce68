// Checks that a graph is what trace.h promises.
#pragma once

#include "tenon/ir/trace.h"

namespace tenon {

// Throws `internal`, naming the op and its module path, unless every value is defined once, operands are defined before
// they are used in their own or an enclosing region, regions are closed and belong to one op, and every op infers the
// result types it has. For tests and after passes: it visits every op.
void verify(const Graph& graph);

}  // namespace tenon
