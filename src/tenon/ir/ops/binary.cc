// Two-operand elementwise ops, and the operators that broadcast.
#include <algorithm>
#include <cmath>

#include "tenon/ir/ops/combiner.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

struct BinaryDef : OpDef {
  std::string_view hlo_name;
  double (*on_float)(double, double);          // null: integers only
  int64_t (*on_int)(int64_t, int64_t, DType);  // null: floats only
};

const BinaryDef& row(const OpInfo& op) { return static_cast<const BinaryDef&>(*op.def); }

template <bool numbers, bool floats, bool i1>
std::vector<TensorType> infer_binary(const InferArgs& a) {
  const TensorType& t = same_types(a);
  const bool fits = t.dtype == DType::i1 ? i1 : is_float(t.dtype) ? floats : numbers;
  if (!fits) shape_error("isn't defined for {}", to_string(t));
  return {t};
}
constexpr auto infer_number = infer_binary<true, true, false>;
constexpr auto infer_bits = infer_binary<true, false, true>;
constexpr auto infer_float = infer_binary<false, true, false>;
constexpr auto infer_int = infer_binary<true, false, false>;
constexpr auto infer_any = infer_binary<true, true, true>;

void print_binary(HloWriter& w, const OpInfo& op) { print_same(w, op, row(op).hlo_name); }

std::vector<Literal> eval_binary(const EvalArgs& a) {
  const Literal &x = a.operand(0), &y = a.operand(1);
  Literal out(a.results[0]);
  const BinaryDef& def = row(a.op);
  for (int64_t i = 0; i < x.size(); ++i) {
    if (is_float(x.dtype())) {
      out.set(i, def.on_float(x.as_double(i), y.as_double(i)));
    } else {
      out.set_int(i, def.on_int(x.as_int(i), y.as_int(i), x.dtype()));
    }
  }
  return {std::move(out)};
}

uint64_t u(int64_t v) { return static_cast<uint64_t>(v); }
int64_t s(uint64_t v) { return static_cast<int64_t>(v); }
int64_t bits_of(DType d) { return static_cast<int64_t>(byte_size(d)) * 8; }

int64_t int_div(int64_t x, int64_t y, DType d) {
  if (y == 0) return -1;
  if (is_unsigned_int(d)) return s(u(x) / u(y));
  return y == -1 ? s(-u(x)) : x / y;
}
int64_t int_rem(int64_t x, int64_t y, DType d) {
  if (y == 0) return x;
  if (is_unsigned_int(d)) return s(u(x) % u(y));
  return y == -1 ? 0 : x % y;
}
int64_t int_pow(int64_t x, int64_t y, DType d) {
  if (y < 0 && is_signed_int(d)) return x == 1 ? 1 : x == -1 ? (y % 2 != 0 ? -1 : 1) : 0;
  uint64_t out = 1, base = u(x);
  for (uint64_t e = u(y); e != 0; e >>= 1, base *= base) {
    if (e & 1) out *= base;
  }
  return s(out);
}

using V = const VjpArgs&;
using Cts = std::vector<Tensor>;

// Half of the cotangent to each operand where they tie.
template <Tensor (*wins)(const Tensor&, const Tensor&)>
Cts vjp_choice(V a) {
  const Tensor &x = a.operand(0), &y = a.operand(1);
  const Tensor half = select(equal(x, y), full_like(x, 0.5), zeros_like(x));
  const Tensor one = full_like(x, 1.0);
  return {a.cotangent() * select(wins(x, y), one, half), a.cotangent() * select(wins(y, x), one, half)};
}

Cts vjp_div(V a) {
  Tensor x, y;
  if (a.active[0]) x = a.cotangent() / a.operand(1);
  if (a.active[1]) y = -(a.cotangent() * a.results[0] / a.operand(1));
  return {x, y};
}

// x - trunc(x / y) * y, the whole part being flat.
Cts vjp_rem(V a) {
  const Tensor &x = a.operand(0), &y = a.operand(1);
  if (!a.active[1]) return {a.cotangent(), Tensor()};
  const Tensor ratio = x / y;
  const Tensor whole = sign(ratio) * floor(abs(ratio));
  return {a.cotangent(), -(a.cotangent() * whole)};
}

Cts vjp_atan2(V a) {
  const Tensor &y = a.operand(0), &x = a.operand(1);
  const Tensor scaled = a.cotangent() / (x * x + y * y);
  return {a.active[0] ? scaled * x : Tensor(), a.active[1] ? -(scaled * y) : Tensor()};
}

// Where the base is 0 the derivative by the exponent is taken as 0, and where the exponent is 0 that by the base.
Cts vjp_pow(V a) {
  const Tensor &x = a.operand(0), &y = a.operand(1);
  Tensor dx, dy;
  if (a.active[0]) {
    const Tensor one = full_like(y, 1.0);
    dx = a.cotangent() * y * pow(x, select(equal(y, zeros_like(y)), one, y - one));
  }
  if (a.active[1]) {
    const Tensor safe = select(equal(x, zeros_like(x)), full_like(x, 1.0), x);
    dy = a.cotangent() * a.results[0] * log(safe);
  }
  return {dx, dy};
}

const BinaryDef kAdd{
    {"add", infer_number, print_binary, eval_binary, [](V a) -> Cts { return {a.cotangent(), a.cotangent()}; }},
    "add",
    combine::add,
    combine::add};
const BinaryDef kSub{{"sub", infer_number, print_binary, eval_binary,
                      [](V a) -> Cts { return {a.cotangent(), a.active[1] ? -a.cotangent() : Tensor()}; }},
                     "subtract",
                     [](double x, double y) { return x - y; },
                     [](int64_t x, int64_t y, DType) { return s(u(x) - u(y)); }};
const BinaryDef kMul{{"mul", infer_number, print_binary, eval_binary,
                      [](V a) -> Cts {
                        return {a.active[0] ? a.cotangent() * a.operand(1) : Tensor(),
                                a.active[1] ? a.cotangent() * a.operand(0) : Tensor()};
                      }},
                     "multiply",
                     combine::multiply,
                     combine::multiply};
const BinaryDef kDiv{{"div", infer_number, print_binary, eval_binary, vjp_div},
                     "divide",
                     [](double x, double y) { return x / y; },
                     int_div};
const BinaryDef kRem{{"rem", infer_number, print_binary, eval_binary, vjp_rem},
                     "remainder",
                     [](double x, double y) { return std::fmod(x, y); },
                     int_rem};
const BinaryDef kPow{{"pow", infer_number, print_binary, eval_binary, vjp_pow},
                     "power",
                     [](double x, double y) { return std::pow(x, y); },
                     int_pow};
const BinaryDef kAtan2{{"atan2", infer_float, print_binary, eval_binary, vjp_atan2},
                       "atan2",
                       [](double y, double x) { return std::atan2(y, x); },
                       nullptr};
const BinaryDef kMax{{"maximum", infer_any, print_binary, eval_binary, vjp_choice<greater>},
                     "maximum",
                     combine::larger,
                     combine::larger};
const BinaryDef kMin{
    {"minimum", infer_any, print_binary, eval_binary, vjp_choice<less>}, "minimum", combine::smaller, combine::smaller};
const BinaryDef kAnd{{"and", infer_bits, print_binary, eval_binary}, "and", nullptr, combine::both};
const BinaryDef kOr{{"or", infer_bits, print_binary, eval_binary}, "or", nullptr, combine::either};
const BinaryDef kXor{
    {"xor", infer_bits, print_binary, eval_binary}, "xor", nullptr, [](int64_t x, int64_t y, DType) { return x ^ y; }};
const BinaryDef kShiftLeft{
    {"shift_left", infer_int, print_binary, eval_binary}, "shift_left", nullptr, [](int64_t x, int64_t y, DType d) {
      return u(y) >= u(bits_of(d)) ? 0 : s(u(x) << u(y));
    }};
const BinaryDef kShiftRight{{"shift_right_logical", infer_int, print_binary, eval_binary},
                            "shift_right_logical",
                            nullptr,
                            [](int64_t x, int64_t y, DType d) -> int64_t {
                              const uint64_t width = u(bits_of(d));
                              if (u(y) >= width) return 0;
                              const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
                              return s((u(x) & mask) >> u(y));
                            }};
const BinaryDef kShiftRightArithmetic{{"shift_right_arithmetic", infer_int, print_binary, eval_binary},
                                      "shift_right_arithmetic",
                                      nullptr,
                                      [](int64_t x, int64_t y, DType d) -> int64_t {
                                        // The sign is the top bit in unsigned types too.
                                        const int64_t unused = 64 - bits_of(d);
                                        const int64_t wide = s(u(x) << unused) >> unused;
                                        return u(y) >= u(bits_of(d)) ? wide >> 63 : wide >> y;
                                      }};

Tensor broadcasting(const BinaryDef& def, const Tensor& a, const Tensor& b) {
  if (a.dims() == b.dims()) return emit1(def, {a, b});
  const Dims shape = broadcast_shape(a.dims(), b.dims());
  return emit1(def, {broadcast_to(a, shape), broadcast_to(b, shape)});
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return emit1(kAdd, {a, b}); }
Tensor sub(const Tensor& a, const Tensor& b) { return emit1(kSub, {a, b}); }
Tensor mul(const Tensor& a, const Tensor& b) { return emit1(kMul, {a, b}); }
Tensor div(const Tensor& a, const Tensor& b) { return emit1(kDiv, {a, b}); }
Tensor rem(const Tensor& a, const Tensor& b) { return emit1(kRem, {a, b}); }
Tensor pow(const Tensor& a, const Tensor& b) { return emit1(kPow, {a, b}); }
Tensor atan2(const Tensor& y, const Tensor& x) { return emit1(kAtan2, {y, x}); }
Tensor maximum(const Tensor& a, const Tensor& b) { return emit1(kMax, {a, b}); }
Tensor minimum(const Tensor& a, const Tensor& b) { return emit1(kMin, {a, b}); }
Tensor logical_and(const Tensor& a, const Tensor& b) { return emit1(kAnd, {a, b}); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return emit1(kOr, {a, b}); }
Tensor logical_xor(const Tensor& a, const Tensor& b) { return emit1(kXor, {a, b}); }
Tensor shift_left(const Tensor& a, const Tensor& b) { return emit1(kShiftLeft, {a, b}); }
Tensor shift_right_logical(const Tensor& a, const Tensor& b) { return emit1(kShiftRight, {a, b}); }
Tensor shift_right_arithmetic(const Tensor& a, const Tensor& b) { return emit1(kShiftRightArithmetic, {a, b}); }

Tensor operator+(const Tensor& a, const Tensor& b) { return broadcasting(kAdd, a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return broadcasting(kSub, a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return broadcasting(kMul, a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return broadcasting(kDiv, a, b); }
Tensor operator+(const Tensor& a, double b) { return add(a, full_like(a, b)); }
Tensor operator-(const Tensor& a, double b) { return sub(a, full_like(a, b)); }
Tensor operator*(const Tensor& a, double b) { return mul(a, full_like(a, b)); }
Tensor operator/(const Tensor& a, double b) { return div(a, full_like(a, b)); }
Tensor operator+(double a, const Tensor& b) { return add(full_like(b, a), b); }
Tensor operator-(double a, const Tensor& b) { return sub(full_like(b, a), b); }
Tensor operator*(double a, const Tensor& b) { return mul(full_like(b, a), b); }
Tensor operator/(double a, const Tensor& b) { return div(full_like(b, a), b); }

std::span<const OpDef* const> binary_defs() {
  static const OpDef* const defs[] = {&kAdd, &kSub,   &kMul,       &kDiv,        &kRem,
                                      &kPow, &kAtan2, &kMax,       &kMin,        &kAnd,
                                      &kOr,  &kXor,   &kShiftLeft, &kShiftRight, &kShiftRightArithmetic};
  return defs;
}

}  // namespace tenon
