// How often the parts of an optimized program run in one step.
#pragma once

#include <cstdint>
#include <optional>
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

// Whether the computations that it calls run by themselves: a loop's body, a branch. Others are part of their
// instruction: a fusion's, and what reductions, sorts and the like apply.
bool runs_callees(const pjrt::HloInstruction& instruction);

// The place of the instruction of `c` whose value the one at `place` shows by bitcasts alone; its own, if it is none.
size_t behind_bitcasts(const pjrt::HloComputation& c, size_t place);

}  // namespace tenon
