// Checks of numbers that are bounded on both sides.
#pragma once

#include <string_view>

#include "tenon/config/checker.h"

namespace tenon {

// A problem of `field` unless `value` lies between the bounds, written as an interval is: '[' and ']' where the bound
// itself may be, '(' and ')' where it may not. check_interval(c, "b1", b1, '[', 0, 1, ')').
void check_interval(Checker& c, std::string_view field, const Checker::Number& value, char open,
                    const Checker::Number& low, const Checker::Number& high, char close);

}  // namespace tenon
