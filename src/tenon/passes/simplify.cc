#include "tenon/passes/simplify.h"

#include <algorithm>
#include <unordered_map>

#include "tenon/base/text.h"
#include "tenon/ir/op_def.h"
#include "tenon/passes/fold_constants.h"
#include "tenon/passes/rewrite.h"

namespace tenon {
namespace {

class Simplifier : public Rewriter {
 public:
  Simplifier(Graph& graph, std::span<const SimplifyRule> rules) : Rewriter(graph) {
    for (const SimplifyRule& rule : rules) {
      if (rule.ops.empty()) for_all_.push_back(&rule);
      const std::vector<std::string> names = split(rule.ops, ',');
      for (const OpDef* def : op_table()) {
        if (std::ranges::find(names, def->name) != names.end()) by_op_[def].push_back(&rule);
      }
    }
  }

 private:
  std::vector<Tensor> visit(OpId id) override {
    const OpInfo& op = trace().op(id);
    if (op.results.size() != 1) return {};
    const auto found = by_op_.find(op.def);
    if (found != by_op_.end()) {
      for (const SimplifyRule* rule : found->second) {
        if (const Tensor instead = rule->apply(trace(), op)) return {instead};
      }
    }
    for (const SimplifyRule* rule : for_all_) {
      if (const Tensor instead = rule->apply(trace(), op)) return {instead};
    }
    return {};
  }

  std::unordered_map<const OpDef*, std::vector<const SimplifyRule*>> by_op_;
  std::vector<const SimplifyRule*> for_all_;
};

}  // namespace

void simplify(Graph& graph, std::span<const SimplifyRule> rules) { Simplifier(graph, rules).run(); }

void simplify(Graph& graph) {
  static const std::vector<SimplifyRule> all = [] {
    std::vector<SimplifyRule> out;
    for (const auto rules : {constant_rules(), arithmetic_rules(), shape_rules()}) {
      out.insert(out.end(), rules.begin(), rules.end());
    }
    return out;
  }();
  simplify(graph, all);
}

}  // namespace tenon
