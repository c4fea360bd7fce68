// How often instructions of a kind are in what a compiler made.
#pragma once

#include <algorithm>
#include <string_view>

#include "tenon/runtime/aot.h"

namespace tenon {

// Of the optimized program of one device, a loop's body once. Throws when the plugin doesn't show it.
inline int64_t count_instructions(const AotResult& result, std::string_view opcode) {
  int64_t count = 0;
  for (const pjrt::HloComputation& c : result.optimized.value().computations) {
    count += std::count_if(c.instructions.begin(), c.instructions.end(),
                           [&](const pjrt::HloInstruction& i) { return i.opcode == opcode; });
  }
  return count;
}

}  // namespace tenon
