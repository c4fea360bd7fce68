#include "tenon/passes/fold_constants.h"

#include <algorithm>

#include "tenon/ir/ops/shape.h"
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

Literal repeated(const Literal& one, const TensorType& type) {
  const std::span<const std::byte> element = one.bytes().first(byte_size(one.dtype()));
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < num_elements(type.dims); ++i) bytes.insert(bytes.end(), element.begin(), element.end());
  return Literal(type, std::move(bytes));
}

Literal evaluate(const Trace& trace, const OpInfo& op, const std::vector<const Literal*>& operands,
                 const TensorType& type) {
  return std::move(op.def->eval({trace, op, operands, {type}, {}}).at(0));
}

// A constant; if it is one value several times, a broadcast of it, which is no longer and says more.
Tensor shortest(const Literal& value) {
  if (value.size() <= 1 || repeated(value, value.type()) != value) return constant(value);
  return broadcast_in_dim(constant(repeated(value, {value.dtype(), {}})), value.dims(), {});
}

Tensor fold_small(Trace& trace, const OpInfo& op, const TensorType& type) {
  std::vector<const Literal*> operands;
  std::vector<Literal> spread;
  spread.reserve(op.operands.size());
  for (const ValueId v : op.operands) {
    const TensorType& has = trace.value(v).type;
    const OpInfo* made = maker(trace.tensor(v), "constant");
    if (made != nullptr && num_elements(has.dims) <= kMaxRead) {
      operands.push_back(&made->attrs.literal("value"));
      continue;
    }
    const Literal* one = splat_constant(trace.tensor(v));
    if (one == nullptr || num_elements(has.dims) > kMaxElements) return {};
    spread.push_back(repeated(*one, has));
    operands.push_back(&spread.back());
  }
  return shortest(evaluate(trace, op, operands, type));
}

// Computed once, on scalars.
Tensor fold_splat(Trace& trace, const OpInfo& op, const TensorType& type) {
  std::vector<Literal> scalars;
  for (const ValueId v : op.operands) {
    const Literal* one = splat_constant(trace.tensor(v));
    if (one == nullptr) return {};
    scalars.push_back(repeated(*one, {one->dtype(), {}}));
  }
  std::vector<const Literal*> operands;
  for (const Literal& one : scalars) operands.push_back(&one);
  return broadcast_in_dim(constant(evaluate(trace, op, operands, {type.dtype, {}})), type.dims, {});
}

Tensor fold(Trace& trace, const OpInfo& op) {
  const bool is_short = op.def->name == "broadcast_in_dim" && trace.value(op.operands[0]).type.dims.empty();
  if (op.operands.empty() || is_short || std::ranges::find(kExact, op.def->name) == std::end(kExact)) return {};
  const TensorType& type = trace.value(op.results[0]).type;
  if (num_elements(type.dims) <= kMaxElements) return fold_small(trace, op, type);
  return is_elementwise(*op.def) ? fold_splat(trace, op, type) : Tensor();
}

}  // namespace

std::span<const SimplifyRule> constant_rules() {
  static const SimplifyRule rules[] = {
      {"fold_constants", "a small result of constants alone is a constant, one value many times a broadcast of one", "",
       fold},
  };
  return rules;
}

}  // namespace tenon
