// Our own text of a graph, for people and tests: one line an op, regions indented, module paths at the end.
#pragma once

#include <string>

#include "tenon/ir/trace.h"

namespace tenon {

std::string to_string(const Graph& graph);

}  // namespace tenon
