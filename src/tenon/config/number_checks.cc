#include "tenon/config/number_checks.h"

#include <fmt/format.h>

#include <cmath>

#include "tenon/base/text.h"

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

namespace {

void require_finite(Checker& c, bool ok, std::string_view field, std::string_view range, double value) {
  c.require(ok && std::isfinite(value), field, fmt::format("must be {}finite, is {}", range, format_float(value)));
}

}  // namespace

void check_above_zero(Checker& c, std::string_view field, std::optional<double> value) {
  if (value) require_finite(c, *value > 0, field, "above 0 and ", *value);
}
void check_not_negative(Checker& c, std::string_view field, double value) {
  require_finite(c, value >= 0, field, "at least 0 and ", value);
}
void check_finite(Checker& c, std::string_view field, double value) { require_finite(c, true, field, "", value); }

}  // namespace tenon
