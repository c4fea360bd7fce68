#include "tenon/nn/number_checks.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tenon/base/text.h"

namespace tenon {
namespace {

void require(Checker& c, bool ok, std::string_view field, std::string_view range, double value) {
  c.require(ok && std::isfinite(value), field, fmt::format("must be {}finite, is {}", range, format_float(value)));
}

}  // namespace

void check_above_zero(Checker& c, std::string_view field, std::optional<double> value) {
  if (value) require(c, *value > 0, field, "above 0 and ", *value);
}
void check_not_negative(Checker& c, std::string_view field, double value) {
  require(c, value >= 0, field, "at least 0 and ", value);
}
void check_finite(Checker& c, std::string_view field, double value) { require(c, true, field, "", value); }

void check_positions(Checker& c, std::string_view field, int64_t value, int64_t min) {
  c.at_least(field, value, min);
  c.at_most(field, value, std::numeric_limits<int32_t>::max());
}

}  // namespace tenon
