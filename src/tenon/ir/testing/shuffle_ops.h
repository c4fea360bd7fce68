// For tests: the ops of a program in another order that computes the same.
#pragma once

#include <algorithm>
#include <random>
#include <unordered_set>
#include <vector>

#include "tenon/ir/trace.h"

namespace tenon {

// Puts the ops of a closed region, and of the regions in it, in a random order in which each still comes after what it
// reads: as if a compiler had evaluated the operands of expressions the other way round.
inline void shuffle_ops(Trace& trace, RegionId region, std::mt19937& rng) {
  std::vector<OpId> left = trace.region(region).ops, order;
  std::shuffle(left.begin(), left.end(), rng);
  std::unordered_set<OpId> done;
  const auto ready = [&](ValueId v) {
    const ValueInfo& info = trace.value(v);
    return info.region != region || info.def == kNoId || done.contains(info.def);
  };
  const auto can_run = [&](OpId id) {
    const OpInfo& op = trace.op(id);
    if (!std::ranges::all_of(op.operands, ready)) return false;
    return std::ranges::all_of(op.regions, [&](RegionId r) { return std::ranges::all_of(captures(trace, r), ready); });
  };
  while (!left.empty()) {
    const auto next = std::ranges::find_if(left, can_run);
    for (const RegionId inner : trace.op(*next).regions) shuffle_ops(trace, inner, rng);
    done.insert(*next);
    order.push_back(*next);
    left.erase(next);
  }
  trace.replace_ops(region, std::move(order));
}

}  // namespace tenon
