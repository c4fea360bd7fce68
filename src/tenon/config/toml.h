// Reading TOML into a Value.
#pragma once

#include <string>
#include <string_view>

#include "tenon/base/result.h"
#include "tenon/config/value.h"

namespace tenon {

// The table that `text` holds; every value knows its file and line. Dates aren't values here. Nesting is limited to 100
// levels, a line to 20,000 characters. `invalid_argument`, at file:line, for text that isn't TOML, a key given twice
// among it.
Result<Value> parse_toml(std::string_view text, const std::string& filename);

// `text` as a single TOML value; bare text becomes a string. `raw` is kept.
Value parse_value(std::string_view text);
// Of bare text that begins like a list or a table: why it is none. Empty otherwise.
std::string why_bare(const Value& value);

}  // namespace tenon
