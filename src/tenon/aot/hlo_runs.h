// How often the parts of an optimized program run in one step.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/pjrt/hlo_module.h"

namespace tenon {

struct HloRuns {
  std::vector<double> times;  // of each computation; 0: nothing calls it
  // Loops whose trips neither the compiler nor their condition says; their bodies count once.
  int64_t unknown_loops = 0;
};

// A loop's body runs as often as the compiler says it does; where it doesn't, as the one integer says that the
// condition compares with, as loops over layers and microbatches are written. Every branch of a conditional counts.
HloRuns count_runs(const pjrt::HloModule& module);

// Trips of a loop of the module; none when not known.
std::optional<int64_t> trips_of(const pjrt::HloModule& module, const pjrt::HloInstruction& loop);

}  // namespace tenon
