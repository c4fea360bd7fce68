#include "tenon/passes/cast_before_barriers.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "tenon/ir/ops/annotate.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/passes/narrowing.h"
#include "tenon/passes/rewrite.h"

namespace tenon {
namespace {

class CastsBefore : public Rewriter {
 public:
  explicit CastsBefore(Graph& graph) : Rewriter(graph) { find_uses(graph.root); }

 private:
  // The barrier gives small values, widened again where they are read; `simplify` drops that with the casts.
  std::vector<Tensor> visit(OpId id) override {
    const OpInfo op = trace().op(id);
    if (op.def->name != "optimization_barrier") return {};
    if (std::ranges::none_of(op.results, [&](ValueId v) { return narrowed(v).has_value(); })) return {};
    std::vector<Tensor> values;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const Tensor whole = trace().tensor(op.operands[i]);
      const std::optional<DType> to = narrowed(op.results[i]);
      values.push_back(to ? convert(whole, *to) : whole);
    }
    std::vector<Tensor> out = optimization_barrier(values);
    for (size_t i = 0; i < out.size(); ++i) out[i] = convert(out[i], trace().value(op.results[i]).type.dtype);
    return out;
  }

  // What all uses convert `v` to.
  std::optional<DType> narrowed(ValueId v) const {
    const auto it = uses_.find(v);
    return it == uses_.end() ? std::nullopt : it->second;
  }

  void find_uses(RegionId region) {
    for (const OpId id : trace().region(region).ops) {
      const OpInfo& op = trace().op(id);
      const bool narrows = is_narrowing_cast(trace(), op);
      for (const ValueId v : op.operands) {
        add_use(v, narrows ? std::optional(trace().value(op.results[0]).type.dtype) : std::nullopt);
      }
      for (const RegionId inner : op.regions) find_uses(inner);
    }
    for (const ValueId v : trace().region(region).results) add_use(v, std::nullopt);
  }
  void add_use(ValueId v, std::optional<DType> to) {
    const auto [it, first] = uses_.emplace(v, to);
    if (!first && it->second != to) it->second.reset();
  }

  std::unordered_map<ValueId, std::optional<DType>> uses_;
};

}  // namespace

void cast_before_barriers(Graph& graph) { CastsBefore(graph).run(); }

}  // namespace tenon
