#include "tenon/passes/rewrite.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/ir/op_def.h"

namespace tenon {

void Rewriter::run() {
  const TraceScope scope(trace());
  region(graph_.root, kNoId);
}

ValueId Rewriter::now(ValueId v) const {
  const auto it = replaced_.find(v);
  return it == replaced_.end() ? v : it->second;
}

void Rewriter::region(RegionId id, OpId owner) {
  const std::vector<ValueId> results = trace().reopen_region(id);
  enter(owner);
  for (const OpId each : trace().take_ops(0)) op(each, 0);
  leave();
  std::vector<Tensor> rewritten;
  for (const ValueId v : results) rewritten.push_back(trace().tensor(now(v)));
  trace().close_region(id, rewritten);
}

void Rewriter::op(OpId id, int depth) {
  constexpr int kMaxDepth = 100;
  check(depth < kMaxDepth, fmt::format("the rewriting of '{}' has no end", trace().op(id).def->name));
  const OpInfo& info = trace().op(id);
  if (std::any_of(info.operands.begin(), info.operands.end(), [&](ValueId v) { return replaced_.contains(v); })) {
    std::vector<ValueId> operands = info.operands;
    for (ValueId& v : operands) v = now(v);
    trace().replace_operands(id, std::move(operands));
  }
  for (const RegionId inner : info.regions) region(inner, id);
  const size_t before = trace().region(trace().current_region()).ops.size();
  const MarkScope mark(trace(), info.mark);
  const std::vector<Tensor> instead = visit(id);
  if (instead.empty()) return trace().keep_op(id);
  for (const OpId added : trace().take_ops(before)) op(added, depth + 1);
  check(instead.size() == info.results.size(), "an op is replaced by as many values as it has results");
  for (size_t i = 0; i < instead.size(); ++i) {
    const ValueId stands = now(instead[i].id());
    check(trace().value(stands).type == trace().value(info.results[i]).type, "a value is replaced by one of its type");
    replaced_[info.results[i]] = stands;
  }
}

}  // namespace tenon
