#include "tenon/pjrt/options.h"

#include <type_traits>

namespace tenon::pjrt {
namespace {

void set(PJRT_NamedValue& out, const std::string& value) {
  out.type = PJRT_NamedValue_kString;
  out.string_value = value.data();
  out.value_size = value.size();
}
void set(PJRT_NamedValue& out, int64_t value) {
  out.type = PJRT_NamedValue_kInt64;
  out.int64_value = value;
}
void set(PJRT_NamedValue& out, const std::vector<int64_t>& value) {
  out.type = PJRT_NamedValue_kInt64List;
  out.int64_array_value = value.data();
  out.value_size = value.size();
}
void set(PJRT_NamedValue& out, float value) {
  out.type = PJRT_NamedValue_kFloat;
  out.float_value = value;
}
void set(PJRT_NamedValue& out, bool value) {
  out.type = PJRT_NamedValue_kBool;
  out.bool_value = value;
}

}  // namespace

std::vector<PJRT_NamedValue> to_named_values(const Options& options) {
  std::vector<PJRT_NamedValue> result;
  for (const auto& [name, value] : options) {
    PJRT_NamedValue out{};
    out.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    out.name = name.data();
    out.name_size = name.size();
    out.value_size = 1;
    std::visit([&out](const auto& v) { set(out, v); }, value);
    result.push_back(out);
  }
  return result;
}

}  // namespace tenon::pjrt
