// Ranges of numbers in configs.
#pragma once

#include <optional>
#include <string_view>

#include "tenon/config/checker.h"

namespace tenon {

// A problem of `field` unless `value` lies between the bounds, written as an interval is: '[' and ']' where the bound
// itself may be, '(' and ')' where it may not. check_interval(c, "b1", b1, '[', 0, 1, ')').
void check_interval(Checker& c, std::string_view field, const Checker::Number& value, char open,
                    const Checker::Number& low, const Checker::Number& high, char close);

// Of numbers that programs have as constants: infinity and NaN are in none of these ranges.
// Above 0; an empty one is fine.
void check_above_zero(Checker& c, std::string_view field, std::optional<double> value);
// At least 0.
void check_not_negative(Checker& c, std::string_view field, double value);
void check_finite(Checker& c, std::string_view field, double value);

}  // namespace tenon
