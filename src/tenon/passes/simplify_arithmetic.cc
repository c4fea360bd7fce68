// Rules about numbers.
#include <algorithm>
#include <cmath>

#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/passes/simplify.h"
#include "tenon/passes/splat.h"

namespace tenon {
namespace {

// What `x` is the `name` of; empty when it is none.
Tensor inside(const Tensor& x, std::string_view name) {
  const OpInfo* op = maker(x, name);
  return op == nullptr ? Tensor() : x.trace()->tensor(op->operands[0]);
}

// Whether every element of `x` is this float, the sign of zero included.
bool is_float_constant(const Tensor& x, double value) {
  const Literal* c = is_float(x.dtype()) ? splat_constant(x) : nullptr;
  return c != nullptr && c->as_double(0) == value && std::signbit(c->as_double(0)) == std::signbit(value);
}

// Whether every element is this integer or truth value; -1 has all bits set.
bool is_int_constant(const Tensor& x, int64_t value) {
  const Literal* c = is_float(x.dtype()) ? nullptr : splat_constant(x);
  return c != nullptr && c->as_int(0) == Literal::scalar_int(c->dtype(), value).as_int(0);
}

bool is_one(const Tensor& x) { return is_float_constant(x, 1) || is_int_constant(x, 1); }

Tensor drop_annotation(Trace& trace, const OpInfo& op) { return operand(trace, op, 0); }

Tensor double_negation(Trace& trace, const OpInfo& op) { return inside(operand(trace, op, 0), op.def->name); }

Tensor sum_of_negation(Trace& trace, const OpInfo& op) {
  const Tensor a = operand(trace, op, 0), b = operand(trace, op, 1);
  if (const Tensor y = inside(b, "neg")) return op.def->name == "add" ? sub(a, y) : add(a, y);
  if (op.def->name != "add") return {};
  const Tensor x = inside(a, "neg");
  return x ? sub(b, x) : Tensor();
}

// Integers can't: the smallest is its own negation.
Tensor quotient_of_negations(Trace& trace, const OpInfo& op) {
  const Tensor x = inside(operand(trace, op, 0), "neg"), y = inside(operand(trace, op, 1), "neg");
  return x && y && is_float(x.dtype()) ? div(x, y) : Tensor();
}
Tensor product_of_negations(Trace& trace, const OpInfo& op) {
  const Tensor x = inside(operand(trace, op, 0), "neg"), y = inside(operand(trace, op, 1), "neg");
  return x && y ? mul(x, y) : Tensor();
}

// Of floats only -0.0 can be added, and only 0.0 taken away, without changing a zero's sign.
Tensor neutral_operand(Trace& trace, const OpInfo& op) {
  const std::string_view name = op.def->name;
  const Tensor a = operand(trace, op, 0), b = operand(trace, op, 1);
  const auto neutral = [&](const Tensor& x) {
    if (name == "add") return is_float_constant(x, -0.0) || is_int_constant(x, 0);
    if (name == "mul") return is_one(x);
    if (name == "and") return is_int_constant(x, -1);
    if (name == "or" || name == "xor") return is_int_constant(x, 0);
    if (name == "maximum") return is_float_constant(x, -INFINITY);
    return name == "minimum" && is_float_constant(x, INFINITY);
  };
  if (neutral(b)) return a;
  return neutral(a) ? b : Tensor();
}
Tensor neutral_second_operand(Trace& trace, const OpInfo& op) {
  const Tensor b = operand(trace, op, 1);
  const bool one = op.def->name == "div" || op.def->name == "pow";
  const bool neutral = one ? is_one(b) : is_float_constant(b, 0.0) || is_int_constant(b, 0);
  return neutral ? operand(trace, op, 0) : Tensor();
}

// Not of floats: infinity times zero is NaN.
Tensor absorbing_operand(Trace& trace, const OpInfo& op) {
  for (size_t i = 0; i < 2; ++i) {
    const Tensor x = operand(trace, op, i);
    if (is_int_constant(x, op.def->name == "or" ? -1 : 0)) return x;
  }
  return {};
}

Tensor equal_operands(Trace& trace, const OpInfo& op) {
  const Tensor a = operand(trace, op, 0);
  if (a != operand(trace, op, 1)) return {};
  if (op.def->name != "sub" && op.def->name != "xor") return a;
  return is_float(a.dtype()) ? Tensor() : zeros_like(a);  // infinity minus infinity is NaN
}

Tensor select_of_equals(Trace& trace, const OpInfo& op) {
  const Tensor a = operand(trace, op, 1), b = operand(trace, op, 2);
  const Literal *x = splat_constant(a), *y = splat_constant(b);
  return a == b || (x != nullptr && y != nullptr && std::ranges::equal(x->bytes(), y->bytes())) ? a : Tensor();
}

Tensor select_by_constant(Trace& trace, const OpInfo& op) {
  const Literal* c = splat_constant(operand(trace, op, 0));
  return c == nullptr ? Tensor() : operand(trace, op, c->as_int(0) != 0 ? 1 : 2);
}

Tensor select_by_negation(Trace& trace, const OpInfo& op) {
  const Tensor c = inside(operand(trace, op, 0), "not");
  return c ? select(c, operand(trace, op, 2), operand(trace, op, 1)) : Tensor();
}

Tensor select_of_select(Trace& trace, const OpInfo& op) {
  const Tensor c = operand(trace, op, 0), a = operand(trace, op, 1), b = operand(trace, op, 2);
  // What an operand is where it is looked at.
  const auto seen = [&](const Tensor& x, size_t branch) {
    const OpInfo* inner = maker(x, "select");
    return inner != nullptr && inner->operands[0] == c.id() ? trace.tensor(inner->operands[branch]) : x;
  };
  const Tensor then = seen(a, 1), otherwise = seen(b, 2);
  return then == a && otherwise == b ? Tensor() : select(c, then, otherwise);
}

// Bits an integer or a float's mantissa can tell apart.
int precision(DType d) {
  switch (d) {
    case DType::i1:
      return 1;
    case DType::f64:
      return 53;
    case DType::f32:
      return 24;
    case DType::f16:
      return 11;
    case DType::bf16:
      return 8;
    case DType::f8e4m3fn:
      return 4;
    case DType::f8e5m2:
      return 3;
    default:
      return static_cast<int>(byte_size(d)) * 8 - (is_signed_int(d) ? 1 : 0);
  }
}

// Whether every value of `from` is one of `to`.
bool holds_all(DType to, DType from) {
  if (to == from || from == DType::i1) return true;
  if (to == DType::i1 || (is_float(from) && !is_float(to))) return false;
  if (is_float(from)) {
    if (precision(from) > precision(to)) return false;
    const bool narrow = from == DType::f8e4m3fn || from == DType::f8e5m2;
    return narrow ? to >= DType::bf16 : to == DType::f32 || to == DType::f64;
  }
  return precision(from) <= precision(to) && (is_float(to) || is_unsigned_int(from) || is_signed_int(to));
}

// The inner conversion loses nothing. From an integer over a float to an integer, what doesn't fit is cut off at the
// bounds, while from integer to integer it wraps around.
Tensor convert_of_convert(Trace& trace, const OpInfo& op) {
  const Tensor middle = operand(trace, op, 0), x = inside(middle, "convert");
  if (!x || !holds_all(middle.dtype(), x.dtype())) return {};
  const DType to = op.attrs.dtype("dtype");
  const bool cuts = !is_float(x.dtype()) && is_float(middle.dtype()) && !is_float(to) && to != DType::i1;
  return cuts && !holds_all(to, x.dtype()) ? Tensor() : convert(x, to);
}

Tensor elementwise_of_splats(Trace& trace, const OpInfo& op) {
  if (op.operands.empty() || trace.value(op.results[0]).type.dims.empty() || !is_elementwise(*op.def)) return {};
  std::vector<Tensor> scalars;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    scalars.push_back(splat_scalar(operand(trace, op, i)));
    if (!scalars.back()) return {};
  }
  return broadcast_in_dim(trace.emit(*op.def, scalars, op.attrs)[0], trace.value(op.results[0]).type.dims, {});
}

}  // namespace

std::span<const SimplifyRule> arithmetic_rules() {
  static const SimplifyRule rules[] = {
      {"drop_annotation", "tag(x) and stop_gradient(x) are x: gradients have been taken", "tag,stop_gradient",
       drop_annotation},
      {"double_negation", "-(-x) and not(not(x)) are x", "neg,not", double_negation},
      {"sum_of_negation", "a + (-b) is a - b, and a - (-b) is a + b", "add,sub", sum_of_negation},
      {"product_of_negations", "(-a) * (-b) is a * b", "mul", product_of_negations},
      {"quotient_of_negations", "(-a) / (-b) is a / b, of floats", "div", quotient_of_negations},
      {"neutral_operand", "x * 1, x + -0.0, max(x, -inf), of integers x + 0, and the like are x",
       "add,mul,and,or,xor,maximum,minimum", neutral_operand},
      {"neutral_second_operand", "x / 1, x ^ 1, x - 0 and x shifted by 0 are x",
       "sub,div,pow,shift_left,shift_right_logical,shift_right_arithmetic", neutral_second_operand},
      {"absorbing_operand", "x * 0 of integers and x and false are the zero, x or true is the true", "mul,and,or",
       absorbing_operand},
      {"equal_operands", "max(x, x), x and x are x; of integers x - x is 0", "sub,and,or,xor,maximum,minimum",
       equal_operands},
      {"select_of_equals", "select(c, x, x) is x", "select", select_of_equals},
      {"select_by_constant", "select(true, a, b) is a", "select", select_by_constant},
      {"select_by_negation", "select(not(c), a, b) is select(c, b, a)", "select", select_by_negation},
      {"select_of_select", "select(c, select(c, a, b), d) is select(c, a, d)", "select", select_of_select},
      {"convert_of_convert", "a conversion by way of a dtype that holds every value is direct", "convert",
       convert_of_convert},
      {"elementwise_of_splats", "an elementwise op on broadcast scalars is done on the scalars", "",
       elementwise_of_splats},
  };
  return rules;
}

}  // namespace tenon
