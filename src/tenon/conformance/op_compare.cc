#include "tenon/conformance/op_compare.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace tenon {
namespace {

// Ops whose floats may differ in the last places: approximations, and sums in another order or with fused products.
const std::set<std::string_view> kApproximate = {"exp",   "expm1", "log",         "log1p",       "sqrt",
                                                 "rsqrt", "tanh",  "logistic",    "sin",         "cos",
                                                 "pow",   "rem",   "dot_general", "reduce_sum",  "reduce_prod",
                                                 "scan",  "while", "scatter_add", "convolution", "reduce_window_sum",
                                                 "erf",   "atan2", "custom_vjp",  "attention",   "attention_backward"};

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-13;
    case DType::f32:
      return 1e-6;
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    case DType::f8e4m3fn:
      return 0x1p-3;
    default:
      return 0x1p-2;
  }
}

bool agrees(const Literal& got, const Literal& want, int64_t i, bool approximate) {
  if (!is_float(want.dtype())) return got.as_int(i) == want.as_int(i);
  const double x = got.as_double(i), y = want.as_double(i);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (x == y) return std::signbit(x) == std::signbit(y) || approximate;
  return approximate && std::isfinite(y) && std::fabs(x - y) <= tolerance(want.dtype()) * std::max(1.0, std::fabs(y));
}

}  // namespace

std::string compare_results(std::string_view op, const Literal& got, const Literal& want) {
  if (got.type() != want.type()) return fmt::format("{} in place of {}", to_string(got.type()), to_string(want.type()));
  const bool approximate = kApproximate.contains(op);
  for (int64_t i = 0; i < want.size(); ++i) {
    if (agrees(got, want, i, approximate)) continue;
    return fmt::format("element {} is {}, the interpreter says {}", i, got.as_double(i), want.as_double(i));
  }
  return "";
}

}  // namespace tenon
