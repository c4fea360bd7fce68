// Private to this folder: reading optimized programs, which plugins give as protocol buffers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tenon/base/result.h"

namespace tenon::pjrt {

// How often each opcode ("fusion", "all-reduce", …) is in the computations of an HloModuleProtoWithConfig
// (xla/service/hlo.proto). Errors: `plugin`, for bytes that aren't one.
Result<std::map<std::string, int64_t>> count_instructions(std::string_view bytes);

}  // namespace tenon::pjrt
