// JSON texts that end with a checksum of what stands before it: {"NAME": …, "crc32c": "…"}.
#pragma once

#include <string>
#include <string_view>

#include "tenon/base/json.h"
#include "tenon/base/result.h"

namespace tenon {

// Throws `invalid_argument` for text that isn't UTF-8.
std::string seal_json(std::string_view name, const Json& json);
// What was sealed. Fails with `damaged` and the reason alone ("it is cut").
Result<Json> unseal_json(std::string_view name, std::string_view text);

}  // namespace tenon
