// Patterns in which * stands for any text.
#pragma once

#include <string_view>

namespace tenon {

// Whether `pattern` is all of `text`. Takes at most the product of their lengths.
bool matches_wildcard(std::string_view pattern, std::string_view text);

}  // namespace tenon
