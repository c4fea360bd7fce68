#include "tenon/passes/fold_constants.h"

#include <algorithm>

#include "tenon/ir/ops/shape.h"
#include "tenon/passes/rewrite.h"
#include "tenon/passes/splat.h"

namespace tenon {
namespace {

constexpr int64_t kMaxElements = 8;             // of a result
constexpr int64_t kMaxRead = int64_t{1} << 12;  // of an operand

// Ops whose results don't depend on who computes them.
constexpr std::string_view kExact[] = {"abs",
                                       "add",
                                       "and",
                                       "bitcast",
                                       "broadcast_in_dim",
                                       "ceil",
                                       "clamp",
                                       "compare",
                                       "concatenate",
                                       "convert",
                                       "div",
                                       "dynamic_slice",
                                       "floor",
                                       "is_finite",
                                       "maximum",
                                       "minimum",
                                       "mul",
                                       "neg",
                                       "not",
                                       "or",
                                       "pad",
                                       "popcnt",
                                       "reduce_precision",
                                       "rem",
                                       "reshape",
                                       "reverse",
                                       "round_nearest_even",
                                       "select",
                                       "shift_left",
                                       "shift_right_arithmetic",
                                       "shift_right_logical",
                                       "sign",
                                       "slice",
                                       "sub",
                                       "transpose",
                                       "xor"};

class Folder : public Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  std::vector<Tensor> visit(OpId id) override {
    const OpInfo& op = trace().op(id);
    if (op.operands.empty() || op.results.size() != 1 || std::ranges::find(kExact, op.def->name) == std::end(kExact)) {
      return {};
    }
    const TensorType type = trace().value(op.results[0]).type;
    if (num_elements(type.dims) <= kMaxElements) return whole(op, type);
    return is_elementwise(*op.def) ? splat(op, type) : std::vector<Tensor>{};
  }

  std::vector<Tensor> whole(const OpInfo& op, const TensorType& type) {
    std::vector<const Literal*> operands;
    std::vector<Literal> spread;
    spread.reserve(op.operands.size());
    for (const ValueId v : op.operands) {
      const TensorType& has = trace().value(v).type;
      const OpInfo* made = maker(trace().tensor(v), "constant");
      if (made != nullptr && num_elements(has.dims) <= kMaxRead) {
        operands.push_back(&made->attrs.literal("value"));
        continue;
      }
      const Literal* one = splat_constant(trace().tensor(v));
      if (one == nullptr || num_elements(has.dims) > kMaxElements) return {};
      spread.push_back(repeated(*one, has));
      operands.push_back(&spread.back());
    }
    Literal value = evaluate(op, operands, type);
    // A broadcast is as short as what it would be folded to, and says more.
    if (value.size() > 1 && is_splat(value)) return unless_same(op, value);
    return {constant(std::move(value))};
  }

  // The same computed once, on scalars.
  std::vector<Tensor> splat(const OpInfo& op, const TensorType& type) {
    std::vector<Literal> scalars;
    for (const ValueId v : op.operands) {
      const Literal* one = splat_constant(trace().tensor(v));
      if (one == nullptr) return {};
      scalars.push_back(repeated(*one, {one->dtype(), {}}));
    }
    std::vector<const Literal*> operands;
    for (const Literal& one : scalars) operands.push_back(&one);
    return {broadcast_in_dim(constant(evaluate(op, operands, {type.dtype, {}})), type.dims, {})};
  }

  std::vector<Tensor> unless_same(const OpInfo& op, const Literal& value) {
    if (op.def->name == "broadcast_in_dim" && trace().value(op.operands[0]).type.dims.empty()) return {};
    return {broadcast_in_dim(constant(repeated(value, {value.dtype(), {}})), value.dims(), {})};
  }

  static Literal repeated(const Literal& one, const TensorType& type) {
    const std::span<const std::byte> element = one.bytes().first(byte_size(one.dtype()));
    std::vector<std::byte> bytes;
    for (int64_t i = 0; i < num_elements(type.dims); ++i) bytes.insert(bytes.end(), element.begin(), element.end());
    return Literal(type, std::move(bytes));
  }

  static bool is_splat(const Literal& value) { return repeated(value, value.type()) == value; }

  Literal evaluate(const OpInfo& op, const std::vector<const Literal*>& operands, const TensorType& type) {
    EvalArgs args{trace(), op, operands, {type}, {}};
    return std::move(op.def->eval(args).at(0));
  }
};

}  // namespace

void fold_constants(Graph& graph) { Folder(graph).run(); }

}  // namespace tenon
