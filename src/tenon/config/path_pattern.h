// Patterns of paths: "model.decoder.**.dropout".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/config/path.h"

namespace tenon {

// Parts joined by dots. In a part, * stands for any text; the part ** stands for any number of parts, none among them.
class PathPattern {
 public:
  // Throws `invalid_argument` for an empty part.
  explicit PathPattern(std::string_view text);

  bool matches(const Path& path) const;
  // Whether it matches the path or what the path lies in.
  bool covers(const Path& path) const;
  std::string text() const;

 private:
  std::vector<std::string> parts_;
};

}  // namespace tenon
