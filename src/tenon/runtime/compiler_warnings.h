// What compilers warn of and we don't accept.
#pragma once

#include <vector>

#include "tenon/pjrt/compiler_log.h"

namespace tenon {

// Throws `mesh_mismatch` at the ops for which every device gets the whole of an array on its way from one sharding to
// another (XLA's "involuntary full rematerialization"): memory and time that the specs didn't ask for.
void require_kept_split(const std::vector<pjrt::CompilerWarning>& warnings);

}  // namespace tenon
