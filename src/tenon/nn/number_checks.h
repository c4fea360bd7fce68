// Ranges of numbers that programs have as constants: infinity and NaN are in none of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/config/checker.h"

namespace tenon {

// Above 0 and finite; an empty one is fine.
void check_above_zero(Checker& c, std::string_view field, std::optional<double> value);
// At least 0 and finite.
void check_not_negative(Checker& c, std::string_view field, double value);
void check_finite(Checker& c, std::string_view field, double value);
// A number of positions, which are i32: at most the largest of them, and `min` at least.
void check_positions(Checker& c, std::string_view field, int64_t value, int64_t min);

}  // namespace tenon
