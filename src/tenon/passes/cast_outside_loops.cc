#include "tenon/passes/cast_outside_loops.h"

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "tenon/ir/ops/control.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/passes/narrowing.h"
#include "tenon/passes/rewrite.h"

namespace tenon {
namespace {

class CastsOutside : public Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  // What a scan's body casts.
  struct Casts {
    std::map<size_t, OpId> slices;   // of the operand that is sliced, to its only use
    std::vector<OpId> from_outside;  // of values that the body captures
    bool empty() const { return slices.empty() && from_outside.empty(); }
  };

  std::vector<Tensor> visit(OpId id) override {
    const OpInfo op = trace().op(id);
    if (!is_scan(op)) return {};
    const Casts casts = find(op);
    if (casts.empty()) return {};
    std::vector<Tensor> operands;
    for (const ValueId v : op.operands) operands.push_back(trace().tensor(v));
    ValueMap map;
    for (const OpId cast : casts.from_outside) map.set(result(cast), repeat(cast, source(cast)));
    for (const auto& [operand, cast] : casts.slices) operands[operand] = repeat(cast, op.operands[operand]);
    const RegionId body = rewritten_body(op, casts, map);
    return trace().emit(*op.def, std::move(operands), op.attrs, {body});
  }

  Casts find(const OpInfo& scan) {
    const RegionInfo& body = trace().region(scan.regions[0]);
    std::unordered_map<ValueId, int> uses;
    count_uses(scan.regions[0], uses);
    const std::vector<ValueId> outside = captures(trace(), scan.regions[0]);
    const std::unordered_set<ValueId> captured(outside.begin(), outside.end());
    std::unordered_map<ValueId, size_t> sliced;  // parameter of the body -> operand
    for (size_t i = static_cast<size_t>(scan_num_carry(scan)); i < scan.operands.size(); ++i) {
      sliced.emplace(body.params[i + 1], i);
    }
    Casts out;
    for (const OpId id : body.ops) {
      if (!is_narrowing_cast(trace(), trace().op(id))) continue;
      if (captured.contains(source(id))) {
        out.from_outside.push_back(id);
      } else if (const auto it = sliced.find(source(id)); it != sliced.end() && uses[source(id)] == 1) {
        out.slices.emplace(it->second, id);
      }
    }
    return out;
  }

  void count_uses(RegionId id, std::unordered_map<ValueId, int>& uses) {
    for (const OpId each : trace().region(id).ops) {
      for (const ValueId v : trace().op(each).operands) ++uses[v];
      for (const RegionId inner : trace().op(each).regions) count_uses(inner, uses);
    }
    for (const ValueId v : trace().region(id).results) ++uses[v];
  }

  RegionId rewritten_body(const OpInfo& scan, const Casts& casts, ValueMap& map) {
    const RegionInfo body = trace().region(scan.regions[0]);
    std::vector<TensorType> types = trace().types(body.params);
    for (const auto& [operand, cast] : casts.slices) types[operand + 1] = trace().value(result(cast)).type;
    std::unordered_set<OpId> done(casts.from_outside.begin(), casts.from_outside.end());
    for (const auto& [operand, cast] : casts.slices) done.insert(cast);
    return trace_region(trace(), types, [&](const std::vector<Tensor>& params) {
      for (size_t i = 0; i < params.size(); ++i) map.set(body.params[i], params[i]);
      for (const auto& [operand, cast] : casts.slices) map.set(result(cast), params[operand + 1]);
      for (const OpId each : body.ops) {
        if (!done.contains(each)) clone_op(trace(), each, map);
      }
      std::vector<Tensor> results;
      for (const ValueId v : body.results) results.push_back(map(trace(), v));
      return results;
    });
  }

  ValueId source(OpId cast) { return trace().op(cast).operands[0]; }
  ValueId result(OpId cast) { return trace().op(cast).results[0]; }
  // The same cast of another value, here.
  Tensor repeat(OpId cast, ValueId of) {
    const MarkScope mark(trace(), trace().op(cast).mark);
    return convert(trace().tensor(of), trace().value(result(cast)).type.dtype);
  }
};

}  // namespace

void cast_outside_loops(Graph& graph) { CastsOutside(graph).run(); }

}  // namespace tenon
