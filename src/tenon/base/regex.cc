#include "tenon/base/regex.h"

#include <algorithm>
#include <regex>

namespace tenon {
namespace {

#ifdef __GLIBCXX__
constexpr auto kFlags = std::regex::ECMAScript | std::regex::nosubs | std::regex_constants::__polynomial;
#else
constexpr auto kFlags = std::regex::ECMAScript | std::regex::nosubs;
#endif

// The library recurses over the parts of an expression, in which {n} repeats them, and runs look-aheads anew at every
// character.
constexpr size_t kMaxLength = 1000, kMaxDepth = 100, kMaxLookAheads = 2, kMaxParts = 5000;

// The largest number in the braces at the front of `text`, at least 1; kMaxParts + 1 for any above.
size_t repetitions(std::string_view text) {
  size_t largest = 1, number = 0;
  for (const char c : text.substr(1)) {
    if (c >= '0' && c <= '9') {
      number = std::min(number * 10 + static_cast<size_t>(c - '0'), kMaxParts + 1);
      largest = std::max(largest, number);
    } else if (c == ',') {
      number = 0;
    } else {
      break;
    }
  }
  return largest;
}

// What is too large; "" when nothing is.
std::string excess(std::string_view pattern) {
  if (pattern.size() > kMaxLength) return "of at most 1000 characters";
  size_t depth = 0, deepest = 0, look_aheads = 0, parts = pattern.size();
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = pattern.substr(i);
    if (rest.front() == '\\') {
      ++i;
    } else if (rest.front() == '(') {
      deepest = std::max(deepest, ++depth);
      if (rest.starts_with("(?=") || rest.starts_with("(?!")) ++look_aheads;
    } else if (rest.front() == ')') {
      depth -= depth > 0 ? 1 : 0;
    } else if (rest.front() == '{') {
      parts = std::min(parts * repetitions(rest), kMaxParts + 1);
    }
  }
  if (deepest > kMaxDepth) return "with at most 100 parentheses in one another";
  if (look_aheads > kMaxLookAheads) return "with at most 2 look-aheads";
  if (parts > kMaxParts) return "whose counted repetitions come to at most 5000 parts";
  return "";
}

Error refuse(const std::string& what) { return {ErrorCode::invalid_argument, "must be a regular expression " + what}; }

}  // namespace

struct Regex::Compiled {
  std::regex regex;
};

Result<Regex> Regex::compile(std::string_view pattern) {
  if (const std::string what = excess(pattern); !what.empty()) return refuse(what);
  try {
    return Regex(std::make_shared<const Compiled>(Compiled{std::regex(pattern.begin(), pattern.end(), kFlags)}));
  } catch (const std::regex_error& error) {
    const auto code = error.code();
    const bool reference =
        code == std::regex_constants::error_complexity || code == std::regex_constants::error_backref;
    return refuse(reference ? "without back-references" : std::string("(ECMAScript): ") + error.what());
  }
}

bool Regex::finds(std::string_view text) const { return std::regex_search(text.begin(), text.end(), compiled_->regex); }

bool Regex::matches(std::string_view text) const {
  return std::regex_match(text.begin(), text.end(), compiled_->regex);
}

}  // namespace tenon
