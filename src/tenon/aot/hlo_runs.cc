#include "tenon/aot/hlo_runs.h"

#include <set>

namespace tenon {
namespace {

// Of a computation and those it calls.
void collect_integers(const pjrt::HloModule& module, size_t computation, std::set<size_t>& seen,
                      std::set<int64_t>& out) {
  if (!seen.insert(computation).second) return;
  for (const pjrt::HloInstruction& i : module.computations[computation].instructions) {
    if (i.opcode == "constant" && i.integer) out.insert(*i.integer);
    for (const size_t callee : i.called) collect_integers(module, callee, seen, out);
  }
}

}  // namespace

std::optional<int64_t> trips_of(const pjrt::HloModule& module, const pjrt::HloInstruction& loop) {
  if (loop.trip_count) return loop.trip_count;
  if (loop.called.size() != 2) return std::nullopt;
  std::set<size_t> seen;
  std::set<int64_t> integers;
  collect_integers(module, loop.called[1], seen, integers);
  if (integers.size() != 1 || *integers.begin() < 0) return std::nullopt;
  return *integers.begin();
}

HloRuns count_runs(const pjrt::HloModule& module) {
  HloRuns runs;
  runs.times.assign(module.computations.size(), 0);
  runs.times[module.entry] = 1;
  // Callers come behind those they call.
  for (size_t c = module.computations.size(); c-- > 0;) {
    if (runs.times[c] == 0) continue;
    for (const pjrt::HloInstruction& i : module.computations[c].instructions) {
      double times = runs.times[c];
      if (i.opcode == "while") {
        const std::optional<int64_t> trips = trips_of(module, i);
        if (!trips) ++runs.unknown_loops;
        times *= static_cast<double>(trips.value_or(1));
      }
      for (const size_t callee : i.called) runs.times[callee] += times;
    }
  }
  return runs;
}

}  // namespace tenon
