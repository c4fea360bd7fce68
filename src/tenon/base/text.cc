#include "tenon/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <system_error>

namespace tenon {
namespace {

// Longer names are cut: the cost of a comparison stays bounded.
constexpr size_t kMaxCompared = 128;

std::string normalized(std::string_view name) {
  std::string text(name.substr(0, kMaxCompared));
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return text;
}

// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, previous(b.size() + 1), current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({replaced, previous[j] + 1, current[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    before = previous;
    std::swap(previous, current);
  }
  return previous[b.size()];
}

bool contains(std::string_view outer, std::string_view inner) {
  return inner.size() >= 3 && outer.find(inner) != std::string_view::npos;
}

template <class T>
Result<T> parse_number(std::string_view text, std::string_view kind) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc::result_out_of_range) {
    return Error(ErrorCode::invalid_argument, fmt::format("the number is out of range for {}", kind))
        .got(fmt::format("\"{}\"", text));
  }
  if (status != std::errc() || end != text.data() + text.size()) {
    return Error(ErrorCode::invalid_argument, fmt::format("not {}", kind)).got(fmt::format("\"{}\"", text));
  }
  return value;
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string_view::npos; begin = end + 1) {
    pieces.emplace_back(text.substr(begin, end - begin));
  }
  pieces.emplace_back(text.substr(begin));
  return pieces;
}

std::string join(const std::vector<std::string>& pieces, std::string_view separator) {
  return fmt::format("{}", fmt::join(pieces, separator));
}

std::string quote_text(std::string_view text) {
  constexpr size_t kShown = 100;
  std::string out = "\"";
  for (const char c : text.substr(0, kShown)) {
    if (c == '"' || c == '\\') {
      out += fmt::format("\\{}", c);
    } else if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + (text.size() > kShown ? "...\"" : "\"");
}

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates, size_t max) {
  const std::string wanted = normalized(name);
  std::vector<std::pair<size_t, size_t>> near;  // distance, index: equal distances keep their order
  for (size_t i = 0; i < candidates.size(); ++i) {
    const std::string other = normalized(candidates[i]);
    const size_t distance = edit_distance(wanted, other);
    const size_t limit = (std::max(wanted.size(), other.size()) + 2) / 3;
    if (distance <= limit || contains(other, wanted) || contains(wanted, other)) near.emplace_back(distance, i);
  }
  std::sort(near.begin(), near.end());
  if (near.size() > max) near.resize(max);
  std::vector<std::string> names;
  for (const auto& [distance, index] : near) names.push_back(candidates[index]);
  return names;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  std::vector<std::string> names = nearest_names(name, candidates);
  if (names.empty()) return "";
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("did you mean {}{}{}?", fmt::join(names, ", "), names.empty() ? "" : " or ", last);
}

std::string format_bytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_count(uint64_t count) {
  if (count < 1000) return fmt::format("{}", count);
  constexpr std::array kUnits = {"k", "M", "B", "T"};
  double value = static_cast<double>(count) / 1000;
  size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.1f}{}", value, kUnits[unit]);
}

std::string format_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer;
  const auto [end, status] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), end);
  const size_t e = text.find('e');
  if (e == std::string::npos) return text.find('.') == std::string::npos ? text + ".0" : text;
  const std::string sign = text[e + 1] == '-' ? "-" : "";
  return text.substr(0, e + 1) + sign + text.substr(text.find_first_not_of("+-0", e + 1));
}

Result<int64_t> parse_int(std::string_view text) { return parse_number<int64_t>(text, "an integer of 64 bits"); }
Result<double> parse_double(std::string_view text) { return parse_number<double>(text, "a number"); }

}  // namespace tenon
