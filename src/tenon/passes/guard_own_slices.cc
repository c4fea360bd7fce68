#include "tenon/passes/guard_own_slices.h"

#include <algorithm>
#include <unordered_set>

#include "tenon/ir/op_def.h"
#include "tenon/ir/ops/annotate.h"
#include "tenon/ir/ops/indexing.h"
#include "tenon/passes/rewrite.h"
#include "tenon/passes/splat.h"

namespace tenon {
namespace {

// Ops that a compiler may fuse into the loop that writes the update.
bool fuses(const OpDef& def) {
  static constexpr std::string_view kMoves[] = {"slice",   "dynamic_slice",    "reshape", "transpose",
                                                "reverse", "broadcast_in_dim", "select",  "convert",
                                                "pad",     "concatenate",      "bitcast", "clamp"};
  return is_elementwise(def) || std::ranges::find(kMoves, def.name) != std::end(kMoves);
}

class OwnSlices : public Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  std::vector<Tensor> visit(OpId id) override {
    const OpInfo& op = trace().op(id);
    if (op.def->name != "dynamic_update_slice" || !reads(op.operands[1], op.operands[0])) return {};
    std::vector<Tensor> starts;
    for (size_t i = 2; i < op.operands.size(); ++i) starts.push_back(trace().tensor(op.operands[i]));
    const Tensor into = trace().tensor(op.operands[0]), update = trace().tensor(op.operands[1]);
    return {dynamic_update_slice(into, optimization_barrier({update})[0], starts)};
  }

  // Whether computing `update` may be fused with reading `array`.
  bool reads(ValueId update, ValueId array) {
    std::unordered_set<ValueId> seen;
    std::vector<ValueId> todo{update};
    while (!todo.empty()) {
      const ValueId v = todo.back();
      todo.pop_back();
      if (v == array) return true;
      const OpId maker = trace().value(v).def;
      if (!seen.insert(v).second || maker == kNoId || !fuses(*trace().op(maker).def)) continue;
      const std::vector<ValueId>& operands = trace().op(maker).operands;
      todo.insert(todo.end(), operands.begin(), operands.end());
    }
    return false;
  }
};

}  // namespace

void guard_own_slices(Graph& graph) { OwnSlices(graph).run(); }

}  // namespace tenon
