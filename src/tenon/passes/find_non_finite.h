// Where a program went non-finite: the first op whose result isn't finite though its operands are, among those that
// made one value so.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tenon/ir/trace.h"

namespace tenon {

// What an array holds at worst.
enum class Worst : uint8_t { finite, infinite, nan };

// Traced: x as f32, in which what is finite stays so.
Tensor narrow_to_f32(const Tensor& x);
// Traced: f32[1], the largest magnitude in `x`, any float: infinite or NaN as soon as one element is. 0 when there is
// none.
Tensor magnitude(const Tensor& x);
// What that says.
Worst worst_of(double magnitude);

// Round `index` of the loop of `scan`.
struct LoopRound {
  OpId scan = kNoId;
  int64_t index = 0;
  bool operator==(const LoopRound&) const = default;
};

// A value where it went non-finite; `rounds` are those of the scans around it, outermost first.
struct NonFiniteOrigin {
  ValueId value = 0;
  Worst worst = Worst::finite;
  std::vector<LoopRound> rounds;
};

// What a float value held in these rounds.
using WorstOf = std::function<Worst(ValueId value, std::span<const LoopRound> rounds)>;

// Follows `target` (a value of region `root`) back through what isn't finite. NaN comes before infinity: infinities may
// be meant, as in masks; those of a constant count only where nothing else is to blame. Where several values are,
// the first in the order of execution. Of ops with regions other than scans only the results are looked at. None
// when `target` is finite.
std::optional<NonFiniteOrigin> find_non_finite(const Trace& trace, RegionId root, ValueId target,
                                               const WorstOf& worst_of_value);

}  // namespace tenon
