// Casts of what a barrier gives, before it.
#pragma once

#include "tenon/ir/trace.h"

namespace tenon {

// What an optimization barrier gives to conversions to one dtype of fewer bytes alone is converted in front of it.
// Recomputation puts such barriers before what it does again: so the forward pass's cast of a parameter serves it too,
// and lives until then; of what is kept besides, the small one is.
void cast_before_barriers(Graph& graph);

}  // namespace tenon
