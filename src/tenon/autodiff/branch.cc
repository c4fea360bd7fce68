// Differentiation of cond and case. Each branch is split in two; what the branch that ran saved for the backward pass
// is returned beside the results.
#include <algorithm>

#include "tenon/autodiff/split.h"
#include "tenon/autodiff/structural.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"

namespace tenon {
namespace {

// A result of the forward op that holds saved values: at most one of each branch, all of one type.
struct Slot {
  TensorType type;
  Save save = Save::automatic;
};

struct BranchSplit {
  const OpDef* def = nullptr;
  Attrs attrs;
  size_t num_results = 0;
  std::vector<ValueId> captured;
  std::vector<bool> active_results;
  std::vector<Split> branches;
  std::vector<Slot> slots;
  // Of each branch and residual: which result of the forward op it is.
  std::vector<std::vector<size_t>> places;
  // Results that a policy keeps.
  std::vector<bool> kept_results;
};

// Gives every saved value of branch `b` a slot that the branch hasn't used yet.
void place_residuals(const Trace& trace, BranchSplit& s, size_t b) {
  const std::vector<ValueId>& outs = trace.region(s.branches[b].forward).results;
  std::vector<bool> used(s.slots.size());
  std::vector<size_t>& places = s.places.emplace_back();
  for (const Residual& r : s.branches[b].residuals) {
    if (r.index < s.num_results) {
      if (r.save == Save::device) s.kept_results[r.index] = true;
      places.push_back(r.index);
      continue;
    }
    const TensorType& type = trace.value(outs[r.index]).type;
    size_t slot = 0;
    while (slot < s.slots.size() && (used[slot] || s.slots[slot].type != type || s.slots[slot].save != r.save)) ++slot;
    if (slot == s.slots.size()) {
      s.slots.push_back({type, r.save});
      used.push_back(false);
    }
    used[slot] = true;
    places.push_back(s.num_results + slot);
  }
}

BranchSplit split_branches(Trace& trace, const OpInfo& op, const std::unordered_set<ValueId>& active) {
  BranchSplit s;
  s.def = op.def;
  s.attrs = op.attrs;
  s.num_results = op.results.size();
  s.captured = active_captures(trace, op, active);
  s.kept_results.resize(s.num_results);
  for (const ValueId v : op.results) s.active_results.push_back(is_float(trace.value(v).type.dtype));
  const std::vector<RegionId> regions = op.regions;
  for (size_t b = 0; b < regions.size(); ++b) {
    s.branches.push_back(split(trace, regions[b], {{}, s.active_results, s.captured},
                               {{}, std::vector<bool>(s.num_results, true), Runs::in_branch}));
    place_residuals(trace, s, b);
  }
  return s;
}

// `x` under a policy of its own, so that a loop around keeps it where the branch's policy said.
Tensor keep(Trace& trace, const Tensor& x, Save save) {
  Mark mark = trace.mark();
  mark.remat_scope = trace.add_remat_scope([save](const RematQuery&) { return save; });
  const MarkScope scope(trace, mark);
  return tag(x, "saved in a branch");
}

// The results of the op, then the slots. A slot that the branch doesn't use is zero.
std::vector<Tensor> forward(Trace& trace, const BranchSplit& s, const Tensor& selector) {
  std::vector<RegionId> regions;
  for (size_t b = 0; b < s.branches.size(); ++b) {
    const auto body = [&](const std::vector<Tensor>&) {
      const std::vector<Tensor> given = inline_region(trace, s.branches[b].forward, {});
      std::vector<Tensor> out(given.begin(), given.begin() + static_cast<int64_t>(s.num_results));
      out.resize(s.num_results + s.slots.size());
      for (size_t i = 0; i < s.places[b].size(); ++i) out[s.places[b][i]] = given[s.branches[b].residuals[i].index];
      for (size_t i = 0; i < s.slots.size(); ++i) {
        Tensor& saved = out[s.num_results + i];
        if (!saved) saved = zeros(s.slots[i].type);
      }
      return out;
    };
    regions.push_back(trace_region(trace, {}, body));
  }
  std::vector<Tensor> out = trace.emit(*s.def, {selector}, s.attrs, std::move(regions));
  for (size_t i = 0; i < out.size(); ++i) {
    const bool is_result = i < s.num_results;
    const Save save = !is_result ? s.slots[i - s.num_results].save : s.kept_results[i] ? Save::device : Save::automatic;
    if (save != Save::automatic) out[i] = keep(trace, out[i], save);
  }
  return out;
}

// Cotangents of the captured values.
std::vector<Tensor> backward(Trace& trace, const BranchSplit& s, const Tensor& selector,
                             const std::vector<Tensor>& results, const std::vector<Tensor>& cts) {
  std::vector<RegionId> regions;
  for (size_t b = 0; b < s.branches.size(); ++b) {
    const auto body = [&](const std::vector<Tensor>&) {
      std::vector<Tensor> args;
      for (const size_t place : s.places[b]) args.push_back(results[place]);
      for (size_t i = 0; i < s.num_results; ++i) {
        if (s.active_results[i]) args.push_back(cts[i] ? cts[i] : zeros_like(results[i]));
      }
      return inline_region(trace, s.branches[b].backward, args);
    };
    regions.push_back(trace_region(trace, {}, body));
  }
  return trace.emit(*s.def, {selector}, s.attrs, std::move(regions));
}

}  // namespace

LinearizedOp linearize_branch(Trace& trace, OpId id, const std::unordered_set<ValueId>& active) {
  const OpInfo& op = trace.op(id);
  const BranchSplit s = split_branches(trace, op, active);
  const Tensor selector = trace.tensor(op.operands[0]);
  const std::vector<Tensor> results = forward(trace, s, selector);
  LinearizedOp out;
  out.results.assign(results.begin(), results.begin() + static_cast<int64_t>(s.num_results));
  out.pullback = [&trace, s, selector, results](const std::vector<Tensor>& cts) {
    const std::vector<Tensor> pulled = backward(trace, s, selector, results, cts);
    Linearizer::Pulled given{{Tensor()}, {}};
    for (size_t i = 0; i < s.captured.size(); ++i) given.captured.emplace_back(s.captured[i], pulled[i]);
    return given;
  };
  return out;
}

}  // namespace tenon
