// Private to this folder: the C API and the two things every call needs.
#pragma once

#include <string_view>

#include "pjrt_c_api.h"
#include "tenon/base/result.h"
#include "tenon/base/shape.h"

// Declares `var`, zeroed, as the argument struct of PJRT_<name>.
#define TENON_PJRT_ARGS(name, var) \
  PJRT_##name##_Args var{};        \
  var.struct_size = PJRT_##name##_Args_STRUCT_SIZE

namespace tenon::pjrt {

// What the plugin's answer means; frees it. `doing` completes "the plugin failed to …"; `code` is the error's kind.
Status to_status(const PJRT_Api* api, PJRT_Error* error, std::string_view doing, ErrorCode code = ErrorCode::plugin);

// Frees an answer that doesn't matter.
void ignore(const PJRT_Api* api, PJRT_Error* error);

PJRT_Buffer_Type to_pjrt(DType dtype);
// Errors: `unsupported`.
Result<DType> from_pjrt(PJRT_Buffer_Type type);

// A program in StableHLO text; points into `text`.
PJRT_Program make_program(std::string_view text);

}  // namespace tenon::pjrt
