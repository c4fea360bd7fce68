// Algebraic clean-up: rewrites, one rule each, that give the same result for every input. The sign and payload of a NaN
// are no part of a result; all else is to the bit, with infinities, -0.0 and integers that wrap around.
#pragma once

#include <span>
#include <string_view>

#include "tenon/ir/trace.h"

namespace tenon {

struct SimplifyRule {
  std::string_view name;
  std::string_view doc;  // one line: what becomes what
  // The ops it is tried on, by comma; empty: every op.
  std::string_view ops;
  // What stands for the op's result; empty: the rule doesn't apply. It may trace other ops, which are simplified next.
  Tensor (*apply)(Trace& trace, const OpInfo& op);
};

// Rules about numbers, and rules about where elements are. Those about constants are in fold_constants.h.
std::span<const SimplifyRule> arithmetic_rules();
std::span<const SimplifyRule> shape_rules();

// Tries all rules in order on every op, until none applies. Tags and stop_gradient go too.
void simplify(Graph& graph);
// The same with other rules.
void simplify(Graph& graph, std::span<const SimplifyRule> rules);

}  // namespace tenon
