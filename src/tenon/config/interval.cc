#include "tenon/config/interval.h"

#include <fmt/format.h>

namespace tenon {

void check_interval(Checker& c, std::string_view field, const Checker::Number& value, char open,
                    const Checker::Number& low, const Checker::Number& high, char close) {
  if (!value.is_set()) return;
  const bool has_low = open == '[', has_high = close == ']';
  const bool above = low.less(value) || (has_low && low.equal(value));
  const bool below = value.less(high) || (has_high && value.equal(high));
  c.require(above && below, field,
            fmt::format("must be {} {} and {} {}, is {}", has_low ? "at least" : "above", low.text(),
                        has_high ? "at most" : "below", high.text(), value.text()));
}

}  // namespace tenon
