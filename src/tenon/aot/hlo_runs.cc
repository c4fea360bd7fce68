#include "tenon/aot/hlo_runs.h"

#include <set>

namespace tenon {
namespace {

// Constants of a computation and those it calls.
std::set<int64_t> integers_of(const pjrt::HloModule& module, size_t computation) {
  std::set<int64_t> out;
  std::set<size_t> seen{computation};
  std::vector<size_t> todo{computation};
  while (!todo.empty()) {
    const size_t c = todo.back();
    todo.pop_back();
    for (const pjrt::HloInstruction& i : module.computations[c].instructions) {
      if (i.opcode == "constant" && i.integer) out.insert(*i.integer);
      for (const size_t callee : i.called) {
        if (seen.insert(callee).second) todo.push_back(callee);
      }
    }
  }
  return out;
}

}  // namespace

std::optional<int64_t> trips_of(const pjrt::HloModule& module, const pjrt::HloInstruction& loop) {
  if (loop.trip_count) return loop.trip_count;
  if (loop.called.size() != 2) return std::nullopt;
  const std::set<int64_t> integers = integers_of(module, loop.called[1]);
  if (integers.size() != 1 || *integers.begin() < 0) return std::nullopt;
  return *integers.begin();
}

bool runs_callees(const pjrt::HloInstruction& instruction) {
  const std::string_view op = instruction.opcode;
  return op == "while" || op == "conditional" || op == "call" || op == "async-start";
}

size_t behind_bitcasts(const pjrt::HloComputation& c, size_t place) {
  while (c.instructions[place].opcode == "bitcast" && !c.instructions[place].operands.empty()) {
    place = c.instructions[place].operands[0];
  }
  return place;
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
