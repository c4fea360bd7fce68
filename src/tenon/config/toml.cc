#include "tenon/config/toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>
#include <toml.hpp>
#include <vector>

#include "tenon/base/text.h"
#include "tenon/base/utf8.h"

namespace tenon {
namespace {

using Toml = toml::basic_value<toml::discard_comments, std::map, std::vector>;

constexpr size_t kMaxDepth = 100;
// The parser's time grows with the square of a line's length: it copies the line for what it tries in vain.
constexpr size_t kMaxLine = 20000;

std::string place(const std::string& filename, size_t line) {
  return fmt::format("{}:{}", filename.empty() ? "text" : filename, line);
}

// The place behind the string whose opening quote is at `at`, of any of TOML's four forms.
size_t end_of_string(std::string_view text, size_t at) {
  const char mark = text[at];
  const std::string three(3, mark);
  const bool multiline = text.substr(at).starts_with(three);
  at += multiline ? 3 : 1;
  while (at < text.size()) {
    if (text[at] == '\\' && mark == '"') {
      at += 2;
    } else if (!multiline && (text[at] == mark || text[at] == '\n')) {
      return text[at] == mark ? at + 1 : at;
    } else if (multiline && text.substr(at).starts_with(three)) {
      at += 3;
      for (int more = 0; more < 2 && at < text.size() && text[at] == mark; ++more) ++at;  // quotes within, at its end
      return at;
    } else {
      ++at;
    }
  }
  return text.size();
}

// The parser and all that walks its values recurse into brackets and dotted keys, so their depth is bounded first.
// Returns the line that nests too deep, 0 when none does.
size_t too_deep_line(std::string_view text) {
  size_t line = 1;
  std::vector<size_t> outer;  // levels in front of each open bracket
  size_t depth = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    size_t next = at + 1;
    if (c == '"' || c == '\'') {
      next = end_of_string(text, at);
    } else if (c == '#') {
      next = std::min(text.find('\n', at), text.size());
    } else if (c == '[' || c == '{') {
      outer.push_back(depth++);
    } else if ((c == ']' || c == '}') && !outer.empty()) {
      depth = outer.back();
      outer.pop_back();
    } else if (c == '.') {
      ++depth;
    } else if (c == ',' || c == '\n') {
      depth = outer.empty() ? 0 : outer.back() + 1;
    }
    if (depth > kMaxDepth) return line;
    const std::string_view passed = text.substr(at, next - at);
    line += static_cast<size_t>(std::count(passed.begin(), passed.end(), '\n'));
    at = next;
  }
  return 0;
}

// The number of the first line that is too long, 0 when none is.
size_t too_long_line(std::string_view text) {
  size_t line = 1;
  for (size_t at = 0; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end - at > kMaxLine) return line;
    at = end + 1;
  }
  return 0;
}

// How a number was written, without underscores and plus signs.
std::string token_of(const Toml& number) {
  const toml::source_location location = number.location();
  std::string token = location.line_str().substr(location.column() - 1, location.region());
  token.erase(std::remove_if(token.begin(), token.end(), [](char c) { return c == '_' || c == '+'; }), token.end());
  return token;
}

// The parser clamps numbers out of range without a word: a value at the limit must have been written as the limit.
bool is_clamped(const Toml& number) {
  if (number.is_integer()) {
    using Limits = std::numeric_limits<int64_t>;
    const int64_t value = number.as_integer();
    return (value == Limits::max() || value == Limits::min()) && token_of(number) != fmt::format("{}", value);
  }
  if (std::isnan(number.as_floating()) || std::abs(number.as_floating()) < std::numeric_limits<double>::max())
    return false;
  const std::string token = token_of(number);
  const Result<double> exact = parse_double(token);
  return token.find("inf") == std::string::npos && !(exact.ok() && std::isfinite(*exact));
}

// Values as ours, with their lines. The parser's own location counts lines from the start, and copies the value's line,
// for every value it is asked about.
class Converter {
 public:
  Converter(std::string_view text, const std::string& filename) : filename_(filename) {
    for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) ends_.push_back(at);
  }

  Value operator()(const Toml& from) const {
    if ((from.is_integer() || from.is_floating()) && is_clamped(from)) {
      throw Error(ErrorCode::invalid_argument, from.is_integer() ? "an integer out of range" : "a float out of range")
          .at(place_of(from))
          .expected(from.is_integer() ? "64 bits" : "at most 1.8e308");
    }
    Value value = plain(from);
    value.where = place_of(from);
    return value;
  }

 private:
  std::string place_of(const Toml& value) const {
    const auto* region = dynamic_cast<const toml::detail::region*>(toml::detail::get_region(value));
    if (region == nullptr) return place(filename_, value.location().line());
    const size_t at = static_cast<size_t>(region->first() - region->begin());
    return place(filename_, static_cast<size_t>(std::lower_bound(ends_.begin(), ends_.end(), at) - ends_.begin()) + 1);
  }

  Value plain(const Toml& from) const {
    switch (from.type()) {
      case toml::value_t::boolean:
        return from.as_boolean();
      case toml::value_t::integer:
        return from.as_integer();
      case toml::value_t::floating:
        return from.as_floating();
      case toml::value_t::string:
        return from.as_string().str;
      case toml::value_t::array: {
        Value::List list;
        for (const Toml& element : from.as_array()) list.push_back((*this)(element));
        return list;
      }
      case toml::value_t::table: {
        Value::Table table;
        for (const auto& [key, value] : from.as_table()) table.push_back({key, (*this)(value)});
        return table;
      }
      default:
        throw Error(ErrorCode::wrong_type, "dates and times aren't config values")
            .at(place_of(from))
            .hint("write a string");
    }
  }

  const std::string& filename_;
  std::vector<size_t> ends_;  // of lines
};

// The parser's message: its first line, without its own decoration.
std::string first_line(std::string_view what) {
  std::string line(what.substr(0, what.find('\n')));
  if (const size_t mark = line.find("[error] "); mark != std::string::npos) line = line.substr(mark + 8);
  if (line.starts_with("toml::")) line = line.substr(6);
  // What its function is called: parse_basic_string.
  if (const size_t colon = line.find(": "); line.starts_with("parse_") && colon != std::string::npos) {
    line = line.substr(colon + 2);
  }
  // It names the key that is there already, and itself: insert_value: value ("seed") already exists.
  const size_t open = line.find("(\""), close = line.find("\") already exists");
  if (open < close && close != std::string::npos) {
    return fmt::format("the key {} is given twice", quote(line.substr(open + 2, close - open - 2)));
  }
  return line;
}

// Takes away where a value and all in it was written.
void forget_where(Value& value) {
  value.where.clear();
  if (auto* list = value.as<Value::List>()) {
    for (Value& element : *list) forget_where(element);
  } else if (auto* table = value.as<Value::Table>()) {
    for (Value::Entry& entry : *table) forget_where(entry.value);
  }
}

}  // namespace

Result<Value> parse_toml(std::string_view text, const std::string& filename) {
  // The parser reads out of bounds where a string isn't UTF-8.
  if (const size_t good = utf8_prefix(text); good != text.size()) {
    const auto lines = std::count(text.begin(), text.begin() + static_cast<int64_t>(good), '\n');
    return Error(ErrorCode::invalid_argument, "the text isn't valid UTF-8")
        .at(place(filename, static_cast<size_t>(lines) + 1));
  }
  if (const size_t line = too_deep_line(text); line != 0) {
    return Error(ErrorCode::invalid_argument, "values are nested too deep")
        .at(place(filename, line))
        .expected(fmt::format("at most {} levels", kMaxDepth));
  }
  if (const size_t line = too_long_line(text); line != 0) {
    return Error(ErrorCode::invalid_argument, "a line is too long")
        .at(place(filename, line))
        .expected(fmt::format("at most {} characters", kMaxLine))
        .hint("break it");
  }
  try {
    std::istringstream stream{std::string(text)};
    return Converter(text, filename)(toml::parse<toml::discard_comments, std::map, std::vector>(stream, filename));
  } catch (const Error& error) {
    return error;
  } catch (const toml::exception& error) {
    return Error(ErrorCode::invalid_argument, first_line(error.what())).at(place(filename, error.location().line()));
  } catch (const std::exception& error) {
    return Error(ErrorCode::invalid_argument, first_line(error.what())).at(filename);
  }
}

std::string why_bare(const Value& value) {
  const bool meant = value.as<std::string>() != nullptr && (value.raw.starts_with('[') || value.raw.starts_with('{'));
  if (!meant) return "";
  const Result<Value> parsed = parse_toml(fmt::format("value = {}\n", value.raw), "");
  return parsed.ok() ? "" : "as a list or table it isn't TOML: " + parsed.error().message();
}

Value parse_value(std::string_view text) {
  const Result<Value> parsed = parse_toml(fmt::format("value = {}\n", text), "");
  Value value = std::string(text);
  const bool one = text.find('\n') == std::string_view::npos && parsed.ok() && parsed.value().find("value") != nullptr;
  if (one) value = *parsed.value().find("value");
  forget_where(value);
  value.raw = text;
  return value;
}

}  // namespace tenon
