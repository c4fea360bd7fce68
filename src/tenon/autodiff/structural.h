// Differentiation of the ops with regions.
#pragma once

#include <unordered_set>

#include "tenon/autodiff/linearize.h"

namespace tenon {

struct LinearizedOp {
  std::vector<Tensor> results;  // stand for the results of the op
  Linearizer::Pullback pullback;
};

// `op` stands in the current region; `active` holds the active values it may use.
LinearizedOp linearize_scan(Trace& trace, OpId op, const std::unordered_set<ValueId>& active);
LinearizedOp linearize_branch(Trace& trace, OpId op, const std::unordered_set<ValueId>& active);
LinearizedOp linearize_manual(Trace& trace, OpId op, const std::unordered_set<ValueId>& active);

// The one of these for `op`; null when its own row of the table has the rule.
using StructuralRule = LinearizedOp (*)(Trace& trace, OpId op, const std::unordered_set<ValueId>& active);
StructuralRule structural_rule(const OpInfo& op);

// Active values that the regions of `op` capture, each once, in order of first use.
std::vector<ValueId> active_captures(const Trace& trace, const OpInfo& op, const std::unordered_set<ValueId>& active);

// Which results of a region depend on active parameters or captures; keeps nothing of what finding out emits.
std::vector<bool> active_results(Trace& trace, RegionId region, const std::vector<bool>& params,
                                 const std::vector<ValueId>& captured);

}  // namespace tenon
