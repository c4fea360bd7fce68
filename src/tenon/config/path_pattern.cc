#include "tenon/config/path_pattern.h"

#include <span>

#include "tenon/base/error.h"
#include "tenon/base/text.h"
#include "tenon/base/wildcard.h"
#include "tenon/config/value.h"

namespace tenon {
namespace {

using Parts = std::span<const std::string>;

// By dynamic programming over (parts of the pattern, parts of the path): no pattern takes exponential time. With
// `prefix`, a part of the path that the pattern has used up is enough.
bool match(Parts pattern, Parts path, bool prefix) {
  std::vector<char> here(path.size() + 1, 0);
  here[0] = 1;
  for (const std::string& part : pattern) {
    std::vector<char> next(path.size() + 1, 0);
    for (size_t i = 0; i <= path.size(); ++i) {
      if (part == "**") {
        next[i] = here[i] != 0 || (i > 0 && next[i - 1] != 0) ? 1 : 0;
      } else if (i > 0 && here[i - 1] != 0 && matches_wildcard(part, path[i - 1])) {
        next[i] = 1;
      }
    }
    here = std::move(next);
  }
  if (!prefix) return here.back() != 0;
  for (const char matched : here) {
    if (matched != 0) return true;
  }
  return false;
}

}  // namespace

PathPattern::PathPattern(std::string_view text) : parts_(split(text, '.')) {
  for (const std::string& part : parts_) {
    if (!part.empty()) continue;
    throw Error(ErrorCode::invalid_argument, "a path pattern has an empty part")
        .got(quote(text))
        .expected("names joined by dots; * in a part is any text, ** any number of parts");
  }
}

bool PathPattern::matches(const Path& path) const { return match(parts_, path, false); }
bool PathPattern::covers(const Path& path) const { return match(parts_, path, true); }

std::string PathPattern::text() const { return join(parts_, "."); }

}  // namespace tenon
