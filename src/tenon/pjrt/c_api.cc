#include "tenon/pjrt/c_api.h"

#include <fmt/format.h>

#include <array>

#include "tenon/base/text.h"

namespace tenon::pjrt {
namespace {

struct TypeRow {
  DType dtype;
  PJRT_Buffer_Type type;
};

constexpr std::array<TypeRow, 13> kTypes = {{
    {DType::i1, PJRT_Buffer_Type_PRED},
    {DType::i8, PJRT_Buffer_Type_S8},
    {DType::i32, PJRT_Buffer_Type_S32},
    {DType::i64, PJRT_Buffer_Type_S64},
    {DType::u8, PJRT_Buffer_Type_U8},
    {DType::u32, PJRT_Buffer_Type_U32},
    {DType::u64, PJRT_Buffer_Type_U64},
    {DType::f8e4m3fn, PJRT_Buffer_Type_F8E4M3FN},
    {DType::f8e5m2, PJRT_Buffer_Type_F8E5M2},
    {DType::bf16, PJRT_Buffer_Type_BF16},
    {DType::f16, PJRT_Buffer_Type_F16},
    {DType::f32, PJRT_Buffer_Type_F32},
    {DType::f64, PJRT_Buffer_Type_F64},
}};
static_assert(kTypes.size() == std::size(kAllDTypes));

std::string_view name_of(int code) {
  constexpr std::array<std::string_view, 17> kNames = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto index = static_cast<size_t>(code);
  return index < kNames.size() ? kNames[index] : "unknown code";
}

}  // namespace

void ignore(const PJRT_Api* api, PJRT_Error* error) {
  if (error == nullptr) return;
  TENON_PJRT_ARGS(Error_Destroy, args);
  args.error = error;
  api->PJRT_Error_Destroy(&args);
}

Status to_status(const PJRT_Api* api, PJRT_Error* error, std::string_view doing, ErrorCode code) {
  if (error == nullptr) return {};
  TENON_PJRT_ARGS(Error_Message, words);
  words.error = error;
  api->PJRT_Error_Message(&words);
  TENON_PJRT_ARGS(Error_GetCode, kind);
  kind.error = error;
  ignore(api, api->PJRT_Error_GetCode(&kind));
  const int kind_number = number_of(kind.code);
  if (kind_number == PJRT_Error_Code_UNIMPLEMENTED) code = ErrorCode::unsupported;
  if (kind_number == PJRT_Error_Code_RESOURCE_EXHAUSTED) code = ErrorCode::out_of_memory;
  Error result(code, fmt::format("the plugin failed to {}: {}: {}", doing, name_of(kind_number),
                                 std::string_view(words.message, words.message_size)));
  ignore(api, error);
  if (kind_number == PJRT_Error_Code_RESOURCE_EXHAUSTED) {
    return std::move(result).hint(
        "the device has too little memory: split over more devices, use a smaller batch, or "
        "recompute more in the backward pass");
  }
  return result;
}

Error compiler_threw(std::string_view words, std::string_view doing) {
  return Error(ErrorCode::compile, fmt::format("the plugin failed to {}: {}", doing, words))
      .hint("the compiler ran into what it doesn't foresee, as arrays whose sizes it can't count: take smaller ones");
}

const PJRT_Extension_Base* find_extension(const PJRT_Api* api, int type) {
  const PJRT_Extension_Base* e = api->extension_start;
  while (e != nullptr && number_of(e->type) != type) e = e->next;
  return e;
}

int compute_capability(const PJRT_Api* api, PJRT_DeviceDescription* description) {
  if (api->PJRT_DeviceDescription_Attributes == nullptr) return 0;
  TENON_PJRT_ARGS(DeviceDescription_Attributes, args);
  args.device_description = description;
  if (!to_status(api, api->PJRT_DeviceDescription_Attributes(&args), "give a device's attributes")) return 0;
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue& a = args.attributes[i];
    if (std::string_view(a.name, a.name_size) != "compute_capability" || number_of(a.type) != PJRT_NamedValue_kString)
      continue;
    const std::vector<std::string> parts = split(std::string_view(a.string_value, a.value_size), '.');
    const Result<int64_t> major = parse_int(parts[0]), minor = parse_int(parts.back());
    if (parts.size() == 2 && major && minor) return static_cast<int>(10 * *major + *minor);
  }
  return 0;
}

PJRT_Buffer_Type to_pjrt(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return row.type;
  }
  throw Error(ErrorCode::internal, "a dtype without a device type");
}

Result<DType> from_pjrt(int type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.dtype;
  }
  return Error(ErrorCode::unsupported, fmt::format("the device's element type number {} has no dtype here", type));
}

PJRT_Program make_program(std::string_view text) {
  constexpr std::string_view kFormat = "mlir";
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  program.code = const_cast<char*>(text.data());
  program.code_size = text.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  return program;
}

}  // namespace tenon::pjrt
