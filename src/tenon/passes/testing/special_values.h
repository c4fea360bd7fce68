// For tests of passes: the inputs that break wrong rewrites, and what counts as the same result.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tenon/base/literal.h"

namespace tenon {

// Infinities, NaN, both zeros, the largest and smallest numbers and a few ordinary ones, in an order that `rng`
// decides.
inline Literal special_values(const TensorType& type, std::mt19937& rng) {
  static const double floats[] = {0.0, -0.0, 1, -1, 0.5, -2.25, 3, INFINITY, -INFINITY, NAN, 1e30, -1e38, 1e-40, 65504};
  static const int64_t ints[] = {0,
                                 1,
                                 -1,
                                 2,
                                 -7,
                                 127,
                                 -128,
                                 std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min(),
                                 std::numeric_limits<int32_t>::max(),
                                 std::numeric_limits<int32_t>::min()};
  Literal out(type);
  for (int64_t i = 0; i < out.size(); ++i) {
    if (is_float(type.dtype)) {
      out.set(i, floats[rng() % std::size(floats)]);
    } else {
      out.set_int(i, type.dtype == DType::i1 ? static_cast<int64_t>(rng() % 2) : ints[rng() % std::size(ints)]);
    }
  }
  return out;
}

inline std::vector<Literal> special_values(const std::vector<TensorType>& types, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<Literal> out;
  for (const TensorType& type : types) out.push_back(special_values(type, rng));
  return out;
}

// To the bit, but one NaN is as good as another.
inline bool same_results(const std::vector<Literal>& a, const std::vector<Literal>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].type() != b[i].type()) return false;
    const size_t width = byte_size(a[i].dtype());
    for (int64_t e = 0; e < a[i].size(); ++e) {
      const bool nan = is_float(a[i].dtype()) && std::isnan(a[i].as_double(e)) && std::isnan(b[i].as_double(e));
      const size_t at = static_cast<size_t>(e) * width;
      if (!nan && std::memcmp(a[i].bytes().data() + at, b[i].bytes().data() + at, width) != 0) return false;
    }
  }
  return true;
}

}  // namespace tenon
