// Text: splitting, joining, numbers to text and back, nearest names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/result.h"

namespace tenon {

// The pieces between separators: "a,,b" gives {"a", "", "b"}, "" gives {""}.
std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& pieces, std::string_view separator);

// The text in double quotes, for showing names from untrusted places: backslash escapes for what isn't printable ASCII,
// cut with "..." after 100 bytes.
std::string quote_text(std::string_view text);

// Up to `max` of the candidates that `name` was probably meant to be, nearest first; none when all are far. Letter
// case, dashes and underscores don't count.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates,
                                       size_t max = 3);
// "did you mean a, b or c?", or "" when nothing is near: for Error::hint.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

// "512 B", "1.5 KiB", "3.0 GiB".
std::string format_bytes(uint64_t bytes);
// "950", "1.2k", "13.8M", "7.0B", "1.1T".
std::string format_count(uint64_t count);
// The shortest text that reads back as the same double, always with a point or an exponent: "0.1", "1.0", "3e-4",
// "inf", "-inf", "nan".
std::string format_float(double value);

// The whole text as a decimal number, no spaces; `invalid_argument` otherwise or when out of range.
Result<int64_t> parse_int(std::string_view text);
Result<double> parse_double(std::string_view text);

}  // namespace tenon
