// Dead-code elimination: drops every op whose results nothing needs, in all regions.
#pragma once

#include "tenon/ir/trace.h"

namespace tenon {

void eliminate_dead_code(Graph& graph);

}  // namespace tenon
