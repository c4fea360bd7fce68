// Paths into a config: field names, list indices and map keys joined by dots, `layers.0.attention.num_heads`.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

using Path = std::vector<std::string>;

// Splits at dots; a part that isn't letters, digits, '_' and '-' is quoted as in TOML. Throws `invalid_argument` for an
// empty part, an unfinished quote or more than 100 parts. "" is the root.
Path parse_path(std::string_view text);
std::string format_path(const Path& path);

// The order of lines in text: part by part, numbers by value and before names.
bool path_less(const Path& a, const Path& b);

}  // namespace tenon
