#include "tenon/passes/cse.h"

#include <algorithm>

#include "tenon/ir/op_def.h"
#include "tenon/ir/ops/custom_call.h"
#include "tenon/ir/ops/table.h"
#include "tenon/passes/rewrite.h"

namespace tenon {
namespace {

bool stays_apart(const OpInfo& op) {
  if (!op.regions.empty() || op.results.empty()) return true;
  if (op.def->name == "optimization_barrier" || op.def->name == "place" || is_custom_call(op)) return true;
  return std::ranges::find(collective_defs(), op.def) != collective_defs().end();
}

// Regions of these ops may read nothing from outside.
bool is_isolated(const OpInfo& op) {
  return op.def->kernel != nullptr || op.def->name == "manual" || op.def->name == "custom_vjp";
}

size_t hash_of(const OpInfo& op) {
  size_t h = std::hash<const void*>{}(op.def);
  for (const ValueId v : op.operands) h = h * 1000003 ^ v;
  return h * 1000003 ^ hash_value(op.attrs);
}

class CommonSubexpressions : public Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  // The ops seen in a region.
  struct Scope {
    bool isolated = false;
    std::unordered_multimap<size_t, OpId> seen;
  };

  void enter(OpId owner) override { scopes_.push_back({owner == kNoId || is_isolated(trace().op(owner)), {}}); }
  void leave() override { scopes_.pop_back(); }

  std::vector<Tensor> visit(OpId id) override {
    const OpInfo& op = trace().op(id);
    if (stays_apart(op)) return {};
    const size_t hash = hash_of(op);
    for (size_t i = scopes_.size(); i-- > 0;) {
      const bool outside = i + 1 < scopes_.size();
      if (outside && !worth_capturing(op)) break;
      for (auto [it, end] = scopes_[i].seen.equal_range(hash); it != end; ++it) {
        const OpInfo& known = trace().op(it->second);
        if (outside && known.mark.remat_scope != op.mark.remat_scope) continue;
        if (known.def == op.def && known.operands == op.operands && known.attrs == op.attrs) return results(known);
      }
      if (scopes_[i].isolated) break;
    }
    scopes_.back().seen.emplace(hash, id);
    return {};
  }

  // Where recomputation would rather save it than do it again.
  bool worth_capturing(const OpInfo& op) {
    double elements = 0;
    for (const ValueId v : op.results) elements += static_cast<double>(num_elements(trace().value(v).type.dims));
    return op.def->recompute == Recompute::expensive || op_flops(trace(), op) > elements;
  }

  std::vector<Tensor> results(const OpInfo& op) {
    std::vector<Tensor> out;
    for (const ValueId v : op.results) out.push_back(trace().tensor(v));
    return out;
  }

  std::vector<Scope> scopes_;
};

}  // namespace

void eliminate_common_subexpressions(Graph& graph) { CommonSubexpressions(graph).run(); }

}  // namespace tenon
