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
LinearizedOp linearize_cond(Trace& trace, OpId op, const std::unordered_set<ValueId>& active);

}  // namespace tenon
