#include "tenon/passes/dce.h"

#include <algorithm>
#include <unordered_set>

namespace tenon {
namespace {

// Walks a region from its results backwards; `needed` holds the values that something alive reads.
void sweep(Trace& trace, RegionId region, std::unordered_set<ValueId>& needed) {
  const RegionInfo& info = trace.region(region);
  needed.insert(info.results.begin(), info.results.end());
  std::vector<OpId> live;
  for (auto it = info.ops.rbegin(); it != info.ops.rend(); ++it) {
    const OpInfo& op = trace.op(*it);
    if (std::none_of(op.results.begin(), op.results.end(), [&](ValueId v) { return needed.contains(v); })) continue;
    live.push_back(*it);
    needed.insert(op.operands.begin(), op.operands.end());
    for (RegionId inner : op.regions) sweep(trace, inner, needed);
  }
  std::reverse(live.begin(), live.end());
  trace.replace_ops(region, std::move(live));
}

}  // namespace

void eliminate_dead_code(Graph& graph) {
  std::unordered_set<ValueId> needed;
  sweep(*graph.trace, graph.root, needed);
}

}  // namespace tenon
