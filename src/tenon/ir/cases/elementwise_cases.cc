// Cases of the one- and two-operand elementwise ops.
#include <cmath>
#include <limits>

#include "tenon/ir/cases/case_list.h"
#include "tenon/ir/ops/elementwise.h"

namespace tenon {
namespace {

struct UnaryCase {
  const char* op;
  Tensor (*fn)(const Tensor&);
  double low, high;  // where the float samples lie
};
struct BinaryCase {
  const char* op;
  Tensor (*fn)(const Tensor&, const Tensor&);
  double low, high, low2, high2;
};

constexpr UnaryCase kUnary[] = {
    {"neg", neg, -2, 2},
    {"abs", abs, -2, 2},
    {"sign", sign, -2, 2},
    {"exp", exp, -2, 2},
    {"expm1", expm1, -1, 1},
    {"log", log, 0.3, 4},
    {"log1p", log1p, -0.6, 3},
    {"sqrt", sqrt, 0.3, 4},
    {"rsqrt", rsqrt, 0.3, 4},
    {"tanh", tanh, -2, 2},
    {"logistic", logistic, -3, 3},
    {"sin", sin, -3, 3},
    {"cos", cos, -3, 3},
    {"floor", floor, -3, 3},
    {"is_finite", is_finite, -2, 2},
    {"ceil", ceil, -3, 3},
    {"round_nearest_even", round_nearest_even, -3, 3},
    {"erf", erf, -2, 2},
};
constexpr BinaryCase kBinary[] = {
    {"add", add, -2, 2, -2, 2},     {"sub", sub, -2, 2, -2, 2},         {"mul", mul, -2, 2, -2, 2},
    {"div", div, -2, 2, 0.5, 2},    {"rem", rem, -4, 4, 0.5, 2},        {"pow", pow, 0.3, 2, -2, 2},
    {"atan2", atan2, -2, 2, -2, 2}, {"maximum", maximum, -2, 2, -2, 2}, {"minimum", minimum, -2, 2, -2, 2},
};

TensorFn apply(Tensor (*fn)(const Tensor&)) {
  return [fn](const std::vector<Tensor>& x) { return std::vector<Tensor>{fn(x[0])}; };
}
TensorFn apply(Tensor (*fn)(const Tensor&, const Tensor&)) {
  return [fn](const std::vector<Tensor>& x) { return std::vector<Tensor>{fn(x[0], x[1])}; };
}

void add_unary(CaseList& list, const UnaryCase& c) {
  for (const DType dtype : kFloats) {
    const TensorType type{dtype, {2, 3}};
    const bool smooth = dtype == DType::f64 && c.fn != is_finite;
    list.add(c.op, to_string(type), {sample(type, c.low, c.high)}, apply(c.fn), smooth ? kSmooth : 0);
  }
  for (const Dims& dims : {Dims{}, Dims{1}, Dims{0, 3}}) {
    const TensorType type{DType::f32, dims};
    list.add(c.op, to_string(type), {sample(type, c.low, c.high)}, apply(c.fn));
  }
  list.add(c.op, "edges", {floats(DType::f32, {8}, {0.0, -0.0, 1, -1, kInf, -kInf, kNaN, 1e30})}, apply(c.fn));
}

// Every integer dtype with its extremes; division by zero included where `y` is given.
void add_integers(CaseList& list, const char* op, const TensorFn& fn, bool two, bool unsigned_too = true) {
  for (const DType dtype : kIntegers) {
    if (is_unsigned_int(dtype) && !unsigned_too) continue;
    const int64_t low = is_unsigned_int(dtype) ? 0 : std::numeric_limits<int64_t>::min() >> (64 - 8 * byte_size(dtype));
    std::vector<Literal> inputs = {ints(dtype, {8}, {0, 1, 2, 7, -1, low, -3, 100})};
    if (two) inputs.push_back(ints(dtype, {8}, {0, 0, 3, 2, 3, -1, 2, 7}));
    list.add(op, to_string(inputs[0].type()), inputs, fn);
  }
}

void add_binary(CaseList& list, const BinaryCase& c) {
  for (const DType dtype : kFloats) {
    const TensorType type{dtype, {2, 3}};
    const bool smooth = dtype == DType::f64;
    list.add(c.op, to_string(type), {sample(type, c.low, c.high), sample(type, c.low2, c.high2, 1)}, apply(c.fn),
             smooth ? kSmooth : 0);
  }
  for (const Dims& dims : {Dims{}, Dims{1}, Dims{0, 3}}) {
    const TensorType type{DType::f32, dims};
    list.add(c.op, to_string(type), {sample(type, c.low, c.high), sample(type, c.low2, c.high2, 1)}, apply(c.fn));
  }
  list.add(c.op, "edges",
           {floats(DType::f32, {9}, {0, 1, -1, kInf, -kInf, kNaN, 2, kInf, 0}),
            floats(DType::f32, {9}, {0, 0, 0, 1, 2, 1, kNaN, kInf, -2})},
           apply(c.fn));
}

// Bit operations, on integers and (where `on_i1`) i1.
void add_bits(CaseList& list, const char* op, const TensorFn& fn, bool two, bool on_i1) {
  add_integers(list, op, fn, two);
  if (!on_i1) return;
  std::vector<Literal> inputs = {ints(DType::i1, {2, 2}, {0, 0, 1, 1})};
  if (two) inputs.push_back(ints(DType::i1, {2, 2}, {0, 1, 0, 1}));
  list.add(op, "i1[2,2]", inputs, fn);
}

void add_reduce_precision(CaseList& list) {
  const auto add = [&](const std::string& label, const Literal& x, int64_t exponent, int64_t mantissa,
                       double step = 0) {
    list.add(
        "reduce_precision", label + " " + to_string(x.type()), {x},
        [=](const std::vector<Tensor>& t) { return std::vector<Tensor>{reduce_precision(t[0], exponent, mantissa)}; },
        step);
  };
  for (const DType dtype : kFloats) add("e4m2", sample({dtype, {2, 3}}, -2, 2), 4, 2);
  // Eighths and their differences are values of the format, on which it is the identity.
  add("exact", eighths({DType::f64, {2, 3}}), 8, 7, kLinear);
  const std::vector<double> edges = {0, -0.0, kInf, -kInf, kNaN, 1e30, -1e30, 65504, 65520, 1e-5, -1e-8, 1 + 0x1p-11};
  add("e5m10 edges", floats(DType::f32, {12}, edges), 5, 10);
  add("e8m7 edges", floats(DType::f32, {12}, edges), 8, 7);
  add("e11m52", floats(DType::f64, {3}, {0.1, 1e300, -3}), 11, 52);
  add("scalar", floats(DType::f32, {}, {0.1}), 8, 7);
  add("empty", Literal({DType::f32, {0, 2}}), 8, 7);
}

}  // namespace

void add_elementwise_cases(CaseList& list) {
  for (const UnaryCase& c : kUnary) add_unary(list, c);
  add_integers(list, "neg", apply(neg), false);
  add_integers(list, "abs", apply(abs), false, false);
  add_integers(list, "sign", apply(sign), false, false);
  add_bits(list, "not", apply(logical_not), false, true);
  for (const BinaryCase& c : kBinary) {
    add_binary(list, c);
    if (c.fn != static_cast<decltype(c.fn)>(atan2)) add_integers(list, c.op, apply(c.fn), true);
  }
  const std::vector<Literal> i1 = {ints(DType::i1, {4}, {0, 0, 1, 1}), ints(DType::i1, {4}, {0, 1, 0, 1})};
  list.add("maximum", "i1[4]", i1, apply(maximum));
  list.add("minimum", "i1[4]", i1, apply(minimum));
  add_bits(list, "and", apply(logical_and), true, true);
  add_bits(list, "or", apply(logical_or), true, true);
  add_bits(list, "xor", apply(logical_xor), true, true);
  add_bits(list, "shift_left", apply(shift_left), true, false);
  add_bits(list, "shift_right_logical", apply(shift_right_logical), true, false);
  add_bits(list, "shift_right_arithmetic", apply(shift_right_arithmetic), true, false);
  add_bits(list, "popcnt", apply(popcnt), false, false);
  const std::vector<Literal> far = {ints(DType::u32, {4}, {-1, -1, -1, -1}), ints(DType::u32, {4}, {31, 32, 33, -1})};
  list.add("shift_left", "far", far, apply(shift_left));
  list.add("shift_right_logical", "far", far, apply(shift_right_logical));
  list.add("shift_right_arithmetic", "far", far, apply(shift_right_arithmetic));
  list.add("round_nearest_even", "ties", {floats(DType::f32, {6}, {0.5, 1.5, 2.5, -0.5, -1.5, 2.4999})},
           apply(round_nearest_even));
  add_reduce_precision(list);
}

}  // namespace tenon
