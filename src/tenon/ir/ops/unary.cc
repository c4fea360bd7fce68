// One-operand elementwise ops; rounding to fewer bits is in reduce_precision.cc.
#include <bit>
#include <cmath>
#include <numbers>

#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

struct UnaryDef : OpDef {
  std::string_view hlo_name;
  double (*on_float)(double);
  int64_t (*on_int)(int64_t);  // null: floats only
};

const UnaryDef& row(const OpInfo& op) { return static_cast<const UnaryDef&>(*op.def); }

std::vector<TensorType> infer_float(const InferArgs& a) {
  if (!is_float(a.operands[0].dtype)) shape_error("needs a float, got {}", to_string(a.operands[0]));
  return {a.operands[0]};
}
std::vector<TensorType> infer_number(const InferArgs& a) {
  if (a.operands[0].dtype == DType::i1) shape_error("needs a number, got {}", to_string(a.operands[0]));
  return {a.operands[0]};
}
std::vector<TensorType> infer_signed(const InferArgs& a) {
  const DType d = a.operands[0].dtype;
  if (!is_float(d) && !is_signed_int(d)) shape_error("needs signed numbers, got {}", to_string(a.operands[0]));
  return {a.operands[0]};
}
std::vector<TensorType> infer_bits(const InferArgs& a) {
  if (is_float(a.operands[0].dtype)) shape_error("needs integers or i1, got {}", to_string(a.operands[0]));
  return {a.operands[0]};
}
std::vector<TensorType> infer_int(const InferArgs& a) {
  if (!is_integer(a.operands[0].dtype)) shape_error("needs integers, got {}", to_string(a.operands[0]));
  return {a.operands[0]};
}
std::vector<TensorType> infer_predicate(const InferArgs& a) {
  infer_float(a);
  return {{DType::i1, a.operands[0].dims}};
}

void print_unary(HloWriter& w, const OpInfo& op) { print_same(w, op, row(op).hlo_name); }
void print_predicate(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.{} {} : {}", row(op).hlo_name, w.names(op.operands), w.signature(op)));
}

void print_erf(HloWriter& w, const OpInfo& op) {
  const std::string type = w.type_text(op.results[0]);
  w.define(op, fmt::format("chlo.erf {} : {} -> {}", w.names(op.operands), type, type));
}

std::vector<Literal> eval_unary(const EvalArgs& a) {
  const Literal& x = a.operand(0);
  Literal out(a.results[0]);
  const UnaryDef& def = row(a.op);
  for (int64_t i = 0; i < x.size(); ++i) {
    if (is_float(x.dtype())) {
      out.set(i, def.on_float(x.as_double(i)));
    } else {
      out.set_int(i, def.on_int(x.as_int(i)));
    }
  }
  return {std::move(out)};
}

std::vector<Literal> eval_not(const EvalArgs& a) {
  const Literal& x = a.operand(0);
  Literal out(a.results[0]);
  for (int64_t i = 0; i < x.size(); ++i) out.set_int(i, x.dtype() == DType::i1 ? !x.as_int(i) : ~x.as_int(i));
  return {std::move(out)};
}

std::vector<Literal> eval_popcnt(const EvalArgs& a) {
  const Literal& x = a.operand(0);
  Literal out(a.results[0]);
  const uint64_t mask = ~uint64_t{0} >> (64 - 8 * byte_size(x.dtype()));
  for (int64_t i = 0; i < x.size(); ++i) out.set_int(i, std::popcount(static_cast<uint64_t>(x.as_int(i)) & mask));
  return {std::move(out)};
}

std::vector<Literal> eval_is_finite(const EvalArgs& a) {
  Literal out(a.results[0]);
  for (int64_t i = 0; i < out.size(); ++i) out.set_int(i, std::isfinite(a.operand(0).as_double(i)));
  return {std::move(out)};
}

using V = const VjpArgs&;
using Cts = std::vector<Tensor>;

double sign_of(double v) { return std::isnan(v) || v == 0 ? v : v > 0 ? 1 : -1; }

// Zero wherever the derivative exists.
Cts vjp_flat(V) { return {Tensor()}; }

const UnaryDef kNeg{{"neg", infer_number, print_unary, eval_unary, [](V a) -> Cts { return {neg(a.cotangent())}; }},
                    "negate",
                    [](double v) { return -v; },
                    [](int64_t v) { return static_cast<int64_t>(-static_cast<uint64_t>(v)); }};
const UnaryDef kAbs{
    {"abs", infer_signed, print_unary, eval_unary, [](V a) -> Cts { return {a.cotangent() * sign(a.operand(0))}; }},
    "abs",
    [](double v) { return std::fabs(v); },
    [](int64_t v) { return v < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(v)) : v; }};
const UnaryDef kSign{
    {"sign", infer_signed, print_unary, eval_unary, vjp_flat}, "sign", sign_of, [](int64_t v) -> int64_t {
      return (v > 0) - (v < 0);
    }};
const UnaryDef kExp{
    {"exp", infer_float, print_unary, eval_unary, [](V a) -> Cts { return {a.cotangent() * a.results[0]}; }},
    "exponential",
    [](double v) { return std::exp(v); },
    nullptr};
const UnaryDef kExpm1{
    {"expm1", infer_float, print_unary, eval_unary, [](V a) -> Cts { return {a.cotangent() * (a.results[0] + 1.0)}; }},
    "exponential_minus_one",
    [](double v) { return std::expm1(v); },
    nullptr};
const UnaryDef kLog{
    {"log", infer_float, print_unary, eval_unary, [](V a) -> Cts { return {a.cotangent() / a.operand(0)}; }},
    "log",
    [](double v) { return std::log(v); },
    nullptr};
const UnaryDef kLog1p{
    {"log1p", infer_float, print_unary, eval_unary, [](V a) -> Cts { return {a.cotangent() / (a.operand(0) + 1.0)}; }},
    "log_plus_one",
    [](double v) { return std::log1p(v); },
    nullptr};
const UnaryDef kSqrt{
    {"sqrt", infer_float, print_unary, eval_unary, [](V a) -> Cts { return {a.cotangent() * 0.5 / a.results[0]}; }},
    "sqrt",
    [](double v) { return std::sqrt(v); },
    nullptr};
const UnaryDef kRsqrt{{"rsqrt", infer_float, print_unary, eval_unary,
                       [](V a) -> Cts { return {a.cotangent() * -0.5 * a.results[0] / a.operand(0)}; }},
                      "rsqrt",
                      [](double v) { return 1.0 / std::sqrt(v); },
                      nullptr};
const UnaryDef kTanh{{"tanh", infer_float, print_unary, eval_unary,
                      [](V a) -> Cts { return {a.cotangent() * (1.0 - a.results[0] * a.results[0])}; }},
                     "tanh",
                     [](double v) { return std::tanh(v); },
                     nullptr};
const UnaryDef kLogistic{{"logistic", infer_float, print_unary, eval_unary,
                          [](V a) -> Cts { return {a.cotangent() * a.results[0] * (1.0 - a.results[0])}; }},
                         "logistic",
                         [](double v) { return 1.0 / (1.0 + std::exp(-v)); },
                         nullptr};
const UnaryDef kSin{
    {"sin", infer_float, print_unary, eval_unary, [](V a) -> Cts { return {a.cotangent() * cos(a.operand(0))}; }},
    "sine",
    [](double v) { return std::sin(v); },
    nullptr};
const UnaryDef kCos{
    {"cos", infer_float, print_unary, eval_unary, [](V a) -> Cts { return {-(a.cotangent() * sin(a.operand(0)))}; }},
    "cosine",
    [](double v) { return std::cos(v); },
    nullptr};
const UnaryDef kFloor{{"floor", infer_float, print_unary, eval_unary, vjp_flat},
                      "floor",
                      [](double v) { return std::floor(v); },
                      nullptr};
const UnaryDef kCeil{
    {"ceil", infer_float, print_unary, eval_unary, vjp_flat}, "ceil", [](double v) { return std::ceil(v); }, nullptr};
const UnaryDef kRound{{"round_nearest_even", infer_float, print_unary, eval_unary, vjp_flat},
                      "round_nearest_even",
                      [](double v) { return std::nearbyint(v); },
                      nullptr};
const UnaryDef kErf{{"erf", infer_float, print_erf, eval_unary,
                     [](V a) -> Cts {
                       const Tensor& x = a.operand(0);
                       return {a.cotangent() * (2 * std::numbers::inv_sqrtpi) * exp(-(x * x))};
                     }},
                    "erf",
                    [](double v) { return std::erf(v); },
                    nullptr};
const UnaryDef kPopcnt{{"popcnt", infer_int, print_unary, eval_popcnt}, "popcnt", nullptr, nullptr};
const UnaryDef kNot{{"not", infer_bits, print_unary, eval_not}, "not", nullptr, nullptr};
const UnaryDef kIsFinite{
    {"is_finite", infer_predicate, print_predicate, eval_is_finite}, "is_finite", nullptr, nullptr};

}  // namespace

Tensor neg(const Tensor& x) { return emit1(kNeg, {x}); }
Tensor abs(const Tensor& x) { return emit1(kAbs, {x}); }
Tensor sign(const Tensor& x) { return emit1(kSign, {x}); }
Tensor exp(const Tensor& x) { return emit1(kExp, {x}); }
Tensor expm1(const Tensor& x) { return emit1(kExpm1, {x}); }
Tensor log(const Tensor& x) { return emit1(kLog, {x}); }
Tensor log1p(const Tensor& x) { return emit1(kLog1p, {x}); }
Tensor sqrt(const Tensor& x) { return emit1(kSqrt, {x}); }
Tensor rsqrt(const Tensor& x) { return emit1(kRsqrt, {x}); }
Tensor tanh(const Tensor& x) { return emit1(kTanh, {x}); }
Tensor logistic(const Tensor& x) { return emit1(kLogistic, {x}); }
Tensor sin(const Tensor& x) { return emit1(kSin, {x}); }
Tensor cos(const Tensor& x) { return emit1(kCos, {x}); }
Tensor floor(const Tensor& x) { return emit1(kFloor, {x}); }
Tensor ceil(const Tensor& x) { return emit1(kCeil, {x}); }
Tensor round_nearest_even(const Tensor& x) { return emit1(kRound, {x}); }
Tensor erf(const Tensor& x) { return emit1(kErf, {x}); }
Tensor popcnt(const Tensor& x) { return emit1(kPopcnt, {x}); }
Tensor logical_not(const Tensor& x) { return emit1(kNot, {x}); }
Tensor is_finite(const Tensor& x) { return emit1(kIsFinite, {x}); }

std::span<const OpDef* const> unary_defs() {
  static const OpDef* const defs[] = {&kNeg,  &kAbs,   &kSign, &kExp,      &kExpm1, &kLog,     &kLog1p,
                                      &kSqrt, &kRsqrt, &kTanh, &kLogistic, &kSin,   &kCos,     &kFloor,
                                      &kCeil, &kRound, &kErf,  &kPopcnt,   &kNot,   &kIsFinite};
  return defs;
}

}  // namespace tenon
