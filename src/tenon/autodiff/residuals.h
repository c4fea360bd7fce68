// What crosses from a forward pass to a backward one: which values are saved, and which are computed again.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tenon/autodiff/split.h"

namespace tenon {

// Forward and backward of a region in one: params…, cotangents… -> results…, cotangents of params and captures….
struct Joint {
  RegionId region = kNoId;
  size_t num_params = 0, num_results = 0;
};

struct ResidualPlan {
  // Parameters and results of forward ops that the backward pass reads, in the order it needs them.
  std::vector<ValueId> values;
  std::unordered_set<ValueId> saved;            // those of `values` that are results of ops
  std::unordered_map<ValueId, Save> asked;      // those of `saved` that a policy keeps: on the device or the host
  std::unordered_set<OpId> backward;            // ops that depend on a cotangent
  std::vector<OpId> recomputed;                 // forward ops the backward pass does again, in order
  std::unordered_map<ValueId, ValueId> tagged;  // value -> the tag on it that is kept

  // Where a policy keeps `v`; automatic: none does.
  Save save(ValueId v) const {
    const auto it = asked.find(v);
    return it == asked.end() ? Save::automatic : it->second;
  }
  // The kept tag that stands for `v`, or `v`.
  ValueId kept(ValueId v) const {
    for (auto it = tagged.find(v); it != tagged.end(); it = tagged.find(v)) v = it->second;
    return v;
  }
};

// The values an op reads, those its regions capture included.
std::vector<ValueId> uses(const Trace& trace, const OpInfo& op);

// Remat policies decide for the ops they mark. For the others, saving a value costs its bytes and doing an op again
// its FLOPs, 32 to a byte: four bytes are worth 128 operations, so elementwise work and narrow contractions are done
// again, and matrix products, long reductions and long chains are saved. The plan is a minimum cut. Loops, sorts and
// scatters (Recompute::expensive) are never done again unless a policy says so. In a loop, what depends only on free
// parameters and captures through cheap ops is never saved.
ResidualPlan plan_residuals(const Trace& trace, const Joint& joint, const SplitOptions& options);

}  // namespace tenon
