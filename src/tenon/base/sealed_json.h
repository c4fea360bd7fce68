// JSON texts that end with a checksum of what stands before it: {"NAME": …, "crc32c": "…"}.
#pragma once

#include <string>
#include <string_view>

#include "tenon/base/result.h"

namespace tenon {

std::string seal_json(std::string_view name, std::string_view json);
// The JSON that was sealed. Fails with `damaged` and the reason alone ("it is cut").
Result<std::string_view> unseal_json(std::string_view name, std::string_view text);

}  // namespace tenon
