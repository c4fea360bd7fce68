// reduce_precision: rounding to the values of a narrower float format.
#include <cmath>
#include <limits>

#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

struct Format {
  int exponent_bits, mantissa_bits;
};
Format format_of(DType d) {
  switch (d) {
    case DType::f64:
      return {11, 52};
    case DType::f32:
      return {8, 23};
    case DType::bf16:
      return {8, 7};
    case DType::f16:
      return {5, 10};
    case DType::f8e5m2:
      return {5, 2};
    default:
      return {4, 3};
  }
}

std::vector<TensorType> infer_reduce_precision(const InferArgs& a) {
  const int64_t exponent = a.attrs.integer("exponent_bits"), mantissa = a.attrs.integer("mantissa_bits");
  if (!is_float(a.operands[0].dtype)) shape_error("needs a float, got {}", to_string(a.operands[0]));
  if (exponent < 1 || mantissa < 0 || exponent > 11 || mantissa > 52) {
    shape_error("no float has {} exponent bits and {} mantissa bits", exponent, mantissa);
  }
  return {a.operands[0]};
}

void print_reduce_precision(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.reduce_precision {}, format = e{}m{} : {}", w.names(op.operands),
                           op.attrs.integer("exponent_bits"), op.attrs.integer("mantissa_bits"),
                           w.type_text(op.results[0])));
}

double rounded(double v, Format from, Format to) {
  if (!std::isfinite(v) || v == 0) return v;
  // The source's subnormal numbers have the spacing of its smallest normal ones.
  const int source_min = 2 - (1 << (from.exponent_bits - 1)), target_min = 2 - (1 << (to.exponent_bits - 1));
  const int exponent = std::max(std::ilogb(v), source_min);
  const int spacing = exponent - std::min(to.mantissa_bits, from.mantissa_bits);
  const double out = std::ldexp(std::nearbyint(std::ldexp(v, -spacing)), spacing);
  if (to.exponent_bits >= from.exponent_bits) return out;
  if (std::fabs(out) >= std::ldexp(1.0, 2 - target_min))
    return std::copysign(std::numeric_limits<double>::infinity(), v);
  return std::fabs(out) < std::ldexp(1.0, target_min) ? std::copysign(0.0, v) : out;
}

std::vector<Literal> eval_reduce_precision(const EvalArgs& a) {
  const Literal& x = a.operand(0);
  const Format to{static_cast<int>(a.attrs().integer("exponent_bits")),
                  static_cast<int>(a.attrs().integer("mantissa_bits"))};
  Literal out(a.results[0]);
  for (int64_t i = 0; i < x.size(); ++i) out.set(i, rounded(x.as_double(i), format_of(x.dtype()), to));
  return {std::move(out)};
}

std::vector<Tensor> vjp_reduce_precision(const VjpArgs& a) {
  return {reduce_precision(a.cotangent(), a.attrs.integer("exponent_bits"), a.attrs.integer("mantissa_bits"))};
}

const OpDef kReducePrecision{"reduce_precision", infer_reduce_precision, print_reduce_precision, eval_reduce_precision,
                             vjp_reduce_precision};

}  // namespace

Tensor reduce_precision(const Tensor& x, int64_t exponent_bits, int64_t mantissa_bits) {
  return emit1(kReducePrecision, {x}, {{"exponent_bits", exponent_bits}, {"mantissa_bits", mantissa_bits}});
}

std::span<const OpDef* const> reduce_precision_defs() {
  static const OpDef* const defs[] = {&kReducePrecision};
  return defs;
}

}  // namespace tenon
