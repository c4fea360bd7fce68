#include "tenon/base/wildcard.h"

namespace tenon {

bool matches_wildcard(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, resume = 0, star = std::string_view::npos;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace tenon
