// UTF-8 (RFC 3629).
#pragma once

#include <cstddef>
#include <string_view>

namespace tenon {

// What a text begins with: how many bytes its first one announces (0: none that a character begins with), and how many
// of these are there and fit.
struct Utf8Front {
  size_t length = 0, good = 0;
  bool whole() const { return length > 0 && good == length; }
};
Utf8Front utf8_front(std::string_view text);

// How many bytes at the front of `text` are whole characters: all of them, unless it isn't UTF-8.
size_t utf8_prefix(std::string_view text);
inline bool is_utf8(std::string_view text) { return utf8_prefix(text) == text.size(); }

}  // namespace tenon
