#include "tenon/config/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tenon/base/error.h"
#include "tenon/config/value.h"

namespace tenon {
namespace {

// Trees are walked by recursion; none is as deep as this.
constexpr size_t kMaxParts = 100;

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

[[noreturn]] void bad_path(std::string_view text, std::string message) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{} in the path {}", message, quote(text)));
}

// Reads what follows a backslash, as quote() writes it: \n, \t, \u001F, or the character itself.
char read_escape(std::string_view text, size_t& at) {
  const char c = text[at++];
  if (c == 'n') return '\n';
  if (c == 't') return '\t';
  if (c != 'u') return c;
  unsigned code = 0;
  const std::string_view digits = text.substr(at, 4);
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (status != std::errc() || end != digits.data() + 4 || code > 0x7f) bad_path(text, "an escape that isn't one");
  at += 4;
  return static_cast<char>(code);
}

// Reads one quoted part from `at`, just past its opening quote, to past its closing one.
std::string read_quoted(std::string_view text, size_t& at, char mark) {
  std::string part;
  while (at < text.size() && text[at] != mark) {
    const char c = text[at++];
    if (c != '\\' || mark != '"') {
      part += c;
    } else if (at < text.size()) {
      part += read_escape(text, at);
    }
  }
  if (at >= text.size()) bad_path(text, "a quote that isn't closed");
  ++at;
  return part;
}

int compare_parts(const std::string& a, const std::string& b) {
  const bool number_a = is_number(a);
  const bool number_b = is_number(b);
  if (number_a != number_b) return number_a ? -1 : 1;
  if (number_a && a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

}  // namespace

Path parse_path(std::string_view text) {
  Path path;
  if (text.empty()) return path;
  size_t at = 0;
  while (true) {
    std::string part;
    if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
      const char mark = text[at++];
      part = read_quoted(text, at, mark);
    } else {
      while (at < text.size() && is_bare(text[at])) part += text[at++];
      if (part.empty()) bad_path(text, "an empty part or a stray character");
    }
    path.push_back(std::move(part));
    if (path.size() > kMaxParts) {
      throw Error(ErrorCode::invalid_argument, fmt::format("a path of more than {} parts", kMaxParts))
          .got(fmt::format("one of {} characters", text.size()));
    }
    if (at == text.size()) return path;
    if (text[at++] != '.') bad_path(text, "a stray character");
  }
}

std::string format_path(const Path& path) {
  std::string out;
  for (const std::string& part : path) {
    if (!out.empty()) out += '.';
    const bool bare = !part.empty() && std::all_of(part.begin(), part.end(), is_bare);
    out += bare ? part : quote(part);
  }
  return out;
}

bool path_less(const Path& a, const Path& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (const int order = compare_parts(a[i], b[i]); order != 0) return order < 0;
  }
  return a.size() < b.size();
}

}  // namespace tenon
