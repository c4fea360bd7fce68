// Which blocks of queries and keys see each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tenon/kernels/cpu/attention.h"

namespace tenon {

// Least and greatest position and segment of a run of tokens.
struct PlaceRange {
  int32_t first_position, last_position, first_segment, last_segment;
};

inline PlaceRange range_of(const int32_t* positions, const int32_t* segments, int64_t count) {
  const auto [p0, p1] = std::minmax_element(positions, positions + count);
  const auto [s0, s1] = std::minmax_element(segments, segments + count);
  return {*p0, *p1, *s0, *s1};
}

enum class Sight : uint8_t { none, some, all };

// What queries in `q` see of keys in `k`: `none` and `all` are certain.
inline Sight sight(const AttentionShape& s, const PlaceRange& q, const PlaceRange& k) {
  bool all = true;
  if (s.causal) {
    if (k.first_position > q.last_position) return Sight::none;
    all = k.last_position <= q.first_position;
  }
  if (s.window > 0) {
    const auto distance = [](int32_t a, int32_t b) { return static_cast<int64_t>(a) - b; };
    if (distance(q.first_position, k.last_position) >= s.window) return Sight::none;
    all = all && distance(q.last_position, k.first_position) < s.window;
  }
  if (s.segments) {
    if (k.last_segment < q.first_segment || k.first_segment > q.last_segment) return Sight::none;
    all = all && k.first_segment == k.last_segment && q.first_segment == q.last_segment &&
          k.first_segment == q.first_segment;
  }
  return all ? Sight::all : Sight::some;
}

}  // namespace tenon
