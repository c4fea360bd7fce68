#include "tenon/ir/ops/combiner.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon::combine {
namespace {

bool less(int64_t x, int64_t y, DType d) {
  return is_unsigned_int(d) ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
}
Literal scalar(DType d, int64_t value) {
  return is_float(d) ? Literal::scalar(d, static_cast<double>(value)) : Literal::scalar_int(d, value);
}

}  // namespace

double add(double x, double y) { return x + y; }
double multiply(double x, double y) { return x * y; }
double larger(double x, double y) { return std::isnan(x) || std::isnan(y) ? NAN : std::max(x, y); }
double smaller(double x, double y) { return std::isnan(x) || std::isnan(y) ? NAN : std::min(x, y); }

int64_t add(int64_t x, int64_t y, DType) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}
int64_t multiply(int64_t x, int64_t y, DType) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}
int64_t larger(int64_t x, int64_t y, DType d) { return less(x, y, d) ? y : x; }
int64_t smaller(int64_t x, int64_t y, DType d) { return less(x, y, d) ? x : y; }
int64_t both(int64_t x, int64_t y, DType) { return x & y; }
int64_t either(int64_t x, int64_t y, DType) { return x | y; }

Literal zero(DType d) { return scalar(d, 0); }
Literal one(DType d) { return scalar(d, 1); }
Literal lowest(DType d) {
  if (is_float(d)) return Literal::scalar(d, d == DType::f8e4m3fn ? -448 : -INFINITY);
  const int64_t low = std::numeric_limits<int64_t>::min() >> (64 - 8 * byte_size(d));
  return Literal::scalar_int(d, is_unsigned_int(d) ? 0 : low);
}
Literal highest(DType d) {
  if (is_float(d)) return Literal::scalar(d, d == DType::f8e4m3fn ? 448 : INFINITY);
  const int64_t high = std::numeric_limits<int64_t>::max() >> (64 - 8 * byte_size(d));
  return Literal::scalar_int(d, is_unsigned_int(d) ? -1 : high);
}

}  // namespace tenon::combine
