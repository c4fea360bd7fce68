#include "tenon/passes/guard_slice_starts.h"

#include "tenon/ir/op_def.h"
#include "tenon/ir/ops/control.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/passes/index_ranges.h"
#include "tenon/passes/rewrite.h"
#include "tenon/passes/splat.h"

namespace tenon {
namespace {

class SliceStarts : public Rewriter {
 public:
  explicit SliceStarts(Graph& graph) : Rewriter(graph), ranges_(trace()) {}

 private:
  void enter(OpId owner) override {
    if (owner != kNoId && is_scan(trace().op(owner))) ranges_.enter(trace().op(owner));
  }

  std::vector<Tensor> visit(OpId id) override {
    const OpInfo& op = trace().op(id);
    if (op.def->name == "dynamic_slice") return clamped_starts(op, 1, op.attrs.dims("sizes"));
    if (op.def->name == "dynamic_update_slice") return clamped_starts(op, 2, type(op, 1).dims);
    if (op.def->name == "gather") return clamped_indices(op);
    return {};
  }

  const TensorType& type(const OpInfo& op, size_t operand) { return trace().value(op.operands[operand]).type; }

  // The op with its starts, the operands from `first` on, clamped so that `sizes` elements fit; empty: as they are.
  std::vector<Tensor> clamped_starts(const OpInfo& op, size_t first, const Dims& sizes) {
    bool changed = false;
    std::vector<Tensor> operands;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      operands.push_back(trace().tensor(op.operands[i]));
      if (i < first) continue;
      const int64_t last = type(op, 0).dims[i - first] - sizes[i - first];
      const IndexRange range = ranges_.of(op.operands[i]);
      if (range.low >= 0 && range.high <= last) continue;
      operands[i] = clamp(operands[i], 0, static_cast<double>(last));
      changed = true;
    }
    return changed ? trace().emit(*op.def, std::move(operands), op.attrs) : std::vector<Tensor>();
  }

  // XLA turns a gather of one slice into a slice.
  std::vector<Tensor> clamped_indices(const OpInfo& op) {
    const Tensor indices = trace().tensor(op.operands[1]);
    const Dims &along = op.attrs.dims("index_map"), &sizes = op.attrs.dims("sizes");
    if (num_elements(indices.dims()) != static_cast<int64_t>(along.size()) || along.empty()) return {};
    std::vector<int64_t> most;
    for (const int64_t d : along) {
      most.push_back(type(op, 0).dims[static_cast<size_t>(d)] - sizes[static_cast<size_t>(d)]);
    }
    const Literal last = Literal::from(DType::i32, indices.dims(), std::span<const int64_t>(most));
    if (const OpInfo* made = maker(indices, "clamp"); made != nullptr && is_constant(made->operands[2], last))
      return {};
    const Tensor inside = clamp(indices, zeros_like(indices), constant(last));
    return trace().emit(*op.def, {trace().tensor(op.operands[0]), inside}, op.attrs);
  }

  bool is_constant(ValueId v, const Literal& value) {
    const OpInfo* made = maker(trace().tensor(v), "constant");
    return made != nullptr && made->attrs.literal("value") == value;
  }

  IndexRanges ranges_;
};

}  // namespace

void guard_slice_starts(Graph& graph) { SliceStarts(graph).run(); }

}  // namespace tenon
