// The ways in which reductions, windows and scatters make one element of two.
#pragma once

#include <string_view>

#include "tenon/base/literal.h"

namespace tenon {

struct Combiner {
  std::string_view hlo_name;
  Literal (*init)(DType);              // the scalar that changes nothing
  double (*on_float)(double, double);  // null: not on floats
  int64_t (*on_int)(int64_t, int64_t, DType);
};

namespace combine {
double add(double x, double y);
double multiply(double x, double y);
double larger(double x, double y);   // NaN if either is
double smaller(double x, double y);  // NaN if either is
// Integers wrap.
int64_t add(int64_t x, int64_t y, DType d);
int64_t multiply(int64_t x, int64_t y, DType d);
int64_t larger(int64_t x, int64_t y, DType d);
int64_t smaller(int64_t x, int64_t y, DType d);
int64_t both(int64_t x, int64_t y, DType d);
int64_t either(int64_t x, int64_t y, DType d);
Literal zero(DType d);
Literal one(DType d);
Literal lowest(DType d);  // -infinity where there is one
Literal highest(DType d);
}  // namespace combine

inline constexpr Combiner kCombineSum{"add", combine::zero, combine::add, combine::add};
inline constexpr Combiner kCombineProd{"multiply", combine::one, combine::multiply, combine::multiply};
inline constexpr Combiner kCombineMax{"maximum", combine::lowest, combine::larger, combine::larger};
inline constexpr Combiner kCombineMin{"minimum", combine::highest, combine::smaller, combine::smaller};
inline constexpr Combiner kCombineAnd{"and", combine::one, nullptr, combine::both};
inline constexpr Combiner kCombineOr{"or", combine::zero, nullptr, combine::either};

}  // namespace tenon
