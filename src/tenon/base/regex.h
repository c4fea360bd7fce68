// Regular expressions that users write.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tenon/base/result.h"

namespace tenon {

// An ECMAScript expression without back-references, which is matched in time that grows with the text as its length
// does: none hangs. Where the standard library offers no such matching (none but libstdc++ does), it tries.
class Regex {
 public:
  // `invalid_argument`, whose message says what the text must be, for what is no such expression and for one that is
  // too large: more than 1000 characters, more than 100 parentheses in one another, more than 2 look-aheads, or
  // more than 5000 parts once its counted repetitions are written out.
  static Result<Regex> compile(std::string_view pattern);

  // Whether it matches a part of the text, or the whole.
  bool finds(std::string_view text) const;
  bool matches(std::string_view text) const;

 private:
  struct Compiled;
  explicit Regex(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tenon
