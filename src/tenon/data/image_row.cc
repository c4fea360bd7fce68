#include "tenon/data/image_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "tenon/base/text.h"

namespace tenon {
namespace {

size_t skip_spaces(std::string_view line, size_t at) {
  return std::min(line.find_first_not_of(" \t\r", at), line.size());
}

// The number at `at`, which is moved behind it and the spaces after it.
std::optional<int32_t> take_number(std::string_view line, size_t& at, int32_t most) {
  const size_t begin = skip_spaces(line, at);
  int32_t value = 0;
  const auto [end, code] = std::from_chars(line.data() + begin, line.data() + line.size(), value);
  if (code != std::errc() || value < 0 || value > most || line[begin] == '-') return std::nullopt;
  at = skip_spaces(line, static_cast<size_t>(end - line.data()));
  return value;
}

Error wrong(std::string_view line, size_t at, std::string expected) {
  return Error(ErrorCode::damaged, fmt::format("byte {} of a line of pixels", at))
      .got(at < line.size() ? quote_text(line.substr(at, 16)) : "its end")
      .expected(std::move(expected));
}

}  // namespace

Result<int32_t> parse_image_row(std::string_view line, std::span<uint8_t> pixels) {
  size_t at = 0;
  for (size_t i = 0; i < pixels.size(); ++i) {
    const std::optional<int32_t> value = take_number(line, at, 255);
    if (!value) return wrong(line, at, fmt::format("pixel {} of {}, 0 to 255", i + 1, pixels.size()));
    pixels[i] = static_cast<uint8_t>(*value);
    if (at == line.size() || line[at] != ',') {
      return wrong(line, at, fmt::format("',' behind pixel {} of {}", i + 1, pixels.size()));
    }
    ++at;
  }
  const std::optional<int32_t> label = take_number(line, at, std::numeric_limits<int32_t>::max());
  if (!label) return wrong(line, at, "the label, 0 or above");
  if (at != line.size()) return wrong(line, at, "the line's end behind the label");
  return *label;
}

}  // namespace tenon
