// compare, select, clamp, convert, bitcast.
#include <cmath>
#include <cstring>
#include <limits>

#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

std::vector<TensorType> infer_compare(const InferArgs& a) { return {{DType::i1, same_types(a).dims}}; }

void print_compare(HloWriter& w, const OpInfo& op) {
  const DType d = w.type(op.operands[0]).dtype;
  const char* kind = is_float(d) ? "FLOAT" : is_signed_int(d) ? "SIGNED" : "UNSIGNED";
  w.define(op, fmt::format("stablehlo.compare {}, {}, {} : {}", op.attrs.text("direction"), w.names(op.operands), kind,
                           w.signature(op)));
}

template <class T>
bool holds(const std::string& direction, T x, T y) {
  if (direction == "EQ") return x == y;
  if (direction == "NE") return x != y;
  if (direction == "LT") return x < y;
  if (direction == "LE") return x <= y;
  if (direction == "GT") return x > y;
  return x >= y;
}

std::vector<Literal> eval_compare(const EvalArgs& a) {
  const Literal &x = a.operand(0), &y = a.operand(1);
  const std::string& direction = a.attrs().text("direction");
  Literal out(a.results[0]);
  for (int64_t i = 0; i < x.size(); ++i) {
    if (is_float(x.dtype())) {
      out.set_int(i, holds(direction, x.as_double(i), y.as_double(i)));
    } else if (is_unsigned_int(x.dtype())) {
      out.set_int(i, holds(direction, static_cast<uint64_t>(x.as_int(i)), static_cast<uint64_t>(y.as_int(i))));
    } else {
      out.set_int(i, holds(direction, x.as_int(i), y.as_int(i)));
    }
  }
  return {std::move(out)};
}

std::vector<TensorType> infer_select(const InferArgs& a) {
  const TensorType &c = a.operands[0], &x = a.operands[1], &y = a.operands[2];
  if (c.dtype != DType::i1 || c.dims != x.dims || x != y) {
    shape_error("needs an i1 condition and two equal branches of its shape, got {}, {}, {}", to_string(c), to_string(x),
                to_string(y));
  }
  return {x};
}
void print_select(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.select {} : {}, {}", w.names(op.operands), w.type_text(op.operands[0]),
                           w.type_text(op.results[0])));
}
std::vector<Literal> eval_select(const EvalArgs& a) {
  Literal out(a.results[0]);
  for (int64_t i = 0; i < out.size(); ++i)
    copy_element(out, i, a.operand(0).as_int(i) ? a.operand(1) : a.operand(2), i);
  return {std::move(out)};
}
std::vector<Tensor> vjp_select(const VjpArgs& a) {
  const Tensor zero = zeros_like(a.cotangent());
  return {Tensor(), select(a.operand(0), a.cotangent(), zero), select(a.operand(0), zero, a.cotangent())};
}

std::vector<TensorType> infer_clamp(const InferArgs& a) {
  const TensorType& t = same_types(a);
  if (t.dtype == DType::i1) shape_error("needs numbers, got {}", to_string(t));
  return {t};
}
// StableHLO puts the value between its bounds.
void print_clamp(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.clamp {}, {}, {} : {}", w.name(op.operands[1]), w.name(op.operands[0]),
                           w.name(op.operands[2]), w.type_text(op.results[0])));
}

template <class T>
T clamped(T x, T low, T high) {
  if (x != x || low != low) return x != x ? x : low;  // NaN
  const T raised = x < low ? low : x;
  return high < raised || high != high ? high : raised;
}

std::vector<Literal> eval_clamp(const EvalArgs& a) {
  const Literal &x = a.operand(0), &low = a.operand(1), &high = a.operand(2);
  Literal out(a.results[0]);
  const auto u = [](const Literal& l, int64_t i) { return static_cast<uint64_t>(l.as_int(i)); };
  for (int64_t i = 0; i < out.size(); ++i) {
    if (is_float(x.dtype())) {
      out.set(i, clamped(x.as_double(i), low.as_double(i), high.as_double(i)));
    } else if (is_unsigned_int(x.dtype())) {
      out.set_int(i, static_cast<int64_t>(clamped(u(x, i), u(low, i), u(high, i))));
    } else {
      out.set_int(i, clamped(x.as_int(i), low.as_int(i), high.as_int(i)));
    }
  }
  return {std::move(out)};
}
std::vector<Tensor> vjp_clamp(const VjpArgs& a) {
  const Tensor &x = a.operand(0), &low = a.operand(1), &high = a.operand(2), &ct = a.cotangent();
  const Tensor zero = zeros_like(ct);
  const Tensor below = less(x, low), above = greater(maximum(x, low), high);
  const Tensor under = select(above, zero, ct);
  return {select(below, zero, under), select(below, under, zero), select(above, ct, zero)};
}

std::vector<TensorType> infer_convert(const InferArgs& a) { return {{a.attrs.dtype("dtype"), a.operands[0].dims}}; }
void print_signature(HloWriter& w, const OpInfo& op, const char* name) {
  w.define(op, fmt::format("stablehlo.{} {} : {}", name, w.names(op.operands), w.signature(op)));
}
void print_convert(HloWriter& w, const OpInfo& op) { print_signature(w, op, "convert"); }

// Saturates, and NaN becomes 0, as XLA.
int64_t to_int(double v, DType dtype) {
  if (std::isnan(v)) return 0;
  const int bits = static_cast<int>(byte_size(dtype)) * 8 - (is_signed_int(dtype) ? 1 : 0);
  const double above = std::ldexp(1.0, bits);
  if (is_signed_int(dtype)) {
    if (v >= above) return std::numeric_limits<int64_t>::max() >> (63 - bits);
    if (v < -above) return -(std::numeric_limits<int64_t>::max() >> (63 - bits)) - 1;
    return static_cast<int64_t>(v);
  }
  if (v <= 0) return 0;
  if (v >= above) return static_cast<int64_t>(std::numeric_limits<uint64_t>::max() >> (64 - bits));
  return static_cast<int64_t>(static_cast<uint64_t>(v));
}

void convert_element(const Literal& x, int64_t i, Literal& out) {
  const DType from = x.dtype(), to = out.dtype();
  if (is_float(from)) {
    const double v = x.as_double(i);
    if (is_float(to)) {
      out.set(i, v);
    } else {
      out.set_int(i, to == DType::i1 ? v != 0 : to_int(v, to));
    }
    return;
  }
  const int64_t v = x.as_int(i);
  if (!is_float(to)) {
    out.set_int(i, to == DType::i1 ? v != 0 : v);
  } else if (from != DType::u64 || v >= 0) {
    out.set_int(i, v);
  } else {
    // To 53 bits by rounding to odd, so that a second rounding to a narrower float is right.
    constexpr uint64_t kLost = 0x7FF;
    const auto u = static_cast<uint64_t>(v);
    const uint64_t odd = (u & ~kLost) | ((u & kLost) != 0 ? kLost + 1 : 0);
    out.set(i, static_cast<double>(to == DType::f64 ? u : odd));
  }
}

std::vector<Literal> eval_convert(const EvalArgs& a) {
  Literal out(a.results[0]);
  for (int64_t i = 0; i < out.size(); ++i) convert_element(a.operand(0), i, out);
  return {std::move(out)};
}
std::vector<Tensor> vjp_convert(const VjpArgs& a) { return {convert(a.cotangent(), a.operand(0).dtype())}; }

std::vector<TensorType> infer_bitcast(const InferArgs& a) {
  const DType to = a.attrs.dtype("dtype");
  if (byte_size(to) != byte_size(a.operands[0].dtype) || (to == DType::i1) != (a.operands[0].dtype == DType::i1)) {
    shape_error("{} and {} have different widths", to_string(a.operands[0]), to_string(to));
  }
  return {{to, a.operands[0].dims}};
}
void print_bitcast(HloWriter& w, const OpInfo& op) { print_signature(w, op, "bitcast_convert"); }
std::vector<Literal> eval_bitcast(const EvalArgs& a) {
  const auto bytes = a.operand(0).bytes();
  return {Literal(a.results[0], {bytes.begin(), bytes.end()})};
}

const OpDef kCompare{"compare", infer_compare, print_compare, eval_compare};
const OpDef kSelect{"select", infer_select, print_select, eval_select, vjp_select};
const OpDef kClamp{"clamp", infer_clamp, print_clamp, eval_clamp, vjp_clamp};
const OpDef kConvert{"convert", infer_convert, print_convert, eval_convert, vjp_convert};
const OpDef kBitcast{"bitcast", infer_bitcast, print_bitcast, eval_bitcast, nullptr, "bits have no derivative"};

Tensor compare(const char* direction, const Tensor& a, const Tensor& b) {
  return emit1(kCompare, {a, b}, {{"direction", std::string(direction)}});
}

}  // namespace

Tensor equal(const Tensor& a, const Tensor& b) { return compare("EQ", a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) { return compare("NE", a, b); }
Tensor less(const Tensor& a, const Tensor& b) { return compare("LT", a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) { return compare("LE", a, b); }
Tensor greater(const Tensor& a, const Tensor& b) { return compare("GT", a, b); }
Tensor greater_equal(const Tensor& a, const Tensor& b) { return compare("GE", a, b); }
Tensor select(const Tensor& condition, const Tensor& a, const Tensor& b) { return emit1(kSelect, {condition, a, b}); }
Tensor clamp(const Tensor& x, const Tensor& low, const Tensor& high) { return emit1(kClamp, {x, low, high}); }
Tensor clamp(const Tensor& x, double low, double high) { return clamp(x, full_like(x, low), full_like(x, high)); }
Tensor convert(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : emit1(kConvert, {x}, {{"dtype", dtype}});
}
Tensor widen(const Tensor& x) { return convert(x, wide_dtype(x.dtype())); }
Tensor bitcast(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : emit1(kBitcast, {x}, {{"dtype", dtype}});
}

std::span<const OpDef* const> compare_defs() {
  static const OpDef* const defs[] = {&kCompare, &kSelect, &kClamp, &kConvert, &kBitcast};
  return defs;
}

}  // namespace tenon
