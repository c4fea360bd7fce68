#include "tenon/passes/index_ranges.h"

#include <algorithm>
#include <limits>

#include "tenon/ir/op_def.h"
#include "tenon/passes/splat.h"

namespace tenon {
namespace {

constexpr IndexRange kAny{std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};

// `low` to `high`, unless that overflows.
IndexRange checked(int64_t low, int64_t high) {
  return low < kAny.low || high > kAny.high ? kAny : IndexRange{low, high};
}

IndexRange product(const IndexRange& x, const IndexRange& y) {
  const auto [low, high] = std::minmax({x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high});
  return checked(low, high);
}

}  // namespace

void IndexRanges::enter(const OpInfo& scan) {
  const int64_t length = scan.attrs.integer("length");
  known_[trace_.region(scan.regions[0]).params[0]] = {0, std::max<int64_t>(length - 1, 0)};
}

IndexRange IndexRanges::of(ValueId v) {
  const auto it = known_.find(v);
  if (it != known_.end()) return it->second;
  const ValueInfo& value = trace_.value(v);
  if (value.type != TensorType{DType::i32, {}} || value.def == kNoId) return kAny;
  const IndexRange range = from(trace_.op(value.def));
  known_[v] = range;
  return range;
}

IndexRange IndexRanges::from(const OpInfo& op) {
  const std::string_view name = op.def->name;
  const auto operand = [&](size_t i) { return of(op.operands[i]); };
  if (const Literal* value = splat_constant(trace_.tensor(op.results[0]))) return {value->as_int(0), value->as_int(0)};
  if (op.operands.empty()) return kAny;
  const IndexRange x = operand(0);
  if (name == "tag") return x;
  if (op.operands.size() < 2) return kAny;
  const IndexRange y = operand(1);
  if (name == "add") return checked(x.low + y.low, x.high + y.high);
  if (name == "sub") return checked(x.low - y.high, x.high - y.low);
  if (name == "mul") return product(x, y);
  if (name == "minimum") return {std::min(x.low, y.low), std::min(x.high, y.high)};
  if (name == "maximum") return {std::max(x.low, y.low), std::max(x.high, y.high)};
  if (name == "rem") return y.low > 0 ? IndexRange{x.low < 0 ? 1 - y.high : 0, y.high - 1} : kAny;
  if (op.operands.size() < 3) return kAny;
  const IndexRange third = operand(2);
  if (name == "select") return {std::min(y.low, third.low), std::max(y.high, third.high)};
  if (name != "clamp") return kAny;
  return {std::min(std::max(x.low, y.low), third.low), std::min(std::max(x.high, y.high), third.high)};
}

}  // namespace tenon
