// What parents set of their children, for Child's `fill`.
#pragma once

#include <cstdint>

#include "tenon/config/required.h"

namespace tenon {

// The size of what a child reads.
inline auto of_dim(Required<int64_t> dim) {
  return [dim](auto& config) { config.input_dim = dim; };
}

}  // namespace tenon
