// Private to this folder: the C API and the two things every call needs.
#pragma once

#include <cstring>
#include <exception>
#include <string_view>

#include "pjrt_c_api.h"
#include "tenon/base/result.h"
#include "tenon/base/shape.h"

// Declares `var`, zeroed, as the argument struct of PJRT_<name>.
#define TENON_PJRT_ARGS(name, var) \
  PJRT_##name##_Args var{};        \
  var.struct_size = PJRT_##name##_Args_STRUCT_SIZE

namespace tenon::pjrt {

// What the plugin's answer means; frees it. `doing` completes "the plugin failed to …"; `code` is the error's kind,
// unless the plugin says that it doesn't do this (`unsupported`) or that the device's memory is full (`out_of_memory`).
Status to_status(const PJRT_Api* api, PJRT_Error* error, std::string_view doing, ErrorCode code = ErrorCode::plugin);

// What an exception that the plugin let out with these words means.
Error compiler_threw(std::string_view words, std::string_view doing);

// An enum's number: a newer plugin may give values this header doesn't name, which mustn't be read as the enum.
template <class E>
int number_of(const E& value) {
  static_assert(sizeof(E) == sizeof(int));
  int result = 0;
  std::memcpy(&result, &value, sizeof(result));
  return result;
}

// The same for a call of the plugin's compiler, which may let out exceptions: an error like those that it returns.
template <class Call>
Status compiler_status(const PJRT_Api* api, const Call& call, std::string_view doing) {
  try {
    return to_status(api, call(), doing, ErrorCode::compile);
  } catch (const std::exception& e) {
    return compiler_threw(e.what(), doing);
  }
}

// Frees an answer that doesn't matter.
void ignore(const PJRT_Api* api, PJRT_Error* error);

// A device's attribute `compute_capability`, "9.0" as 90; 0 where the plugin gives none.
int compute_capability(const PJRT_Api* api, PJRT_DeviceDescription* description);

PJRT_Buffer_Type to_pjrt(DType dtype);
// Errors: `unsupported`.
Result<DType> from_pjrt(int type);

// The plugin's extension of this type number, or null.
const PJRT_Extension_Base* find_extension(const PJRT_Api* api, int type);

// A program in StableHLO text; points into `text`.
PJRT_Program make_program(std::string_view text);

}  // namespace tenon::pjrt
