#include "tenon/config/fn.h"

#include <fmt/format.h>

#include "tenon/base/error.h"
#include "tenon/config/config_type.h"
#include "tenon/config/tree.h"

namespace tenon::detail {

bool equal_fn_structs(const FnHolder& a, const FnHolder& b) {
  if (a.type() != b.type()) return false;
  const auto group = [](const FnHolder& holder) {
    return FieldGroup{holder.type()->fields(), const_cast<FnHolder&>(holder).object(), holder.type()->name()};
  };
  return equal_fields(group(a), group(b));
}

void check_signature(const FnType& type, const std::type_info& signature) {
  if (type.signature() == signature) return;
  throw Error(ErrorCode::wrong_type, fmt::format("{} is a function of another signature", type.name()))
      .got(std::string(type.signature_text()));
}

void throw_empty_fn() { throw Error(ErrorCode::missing_field, "an empty function was called"); }

std::string describe_fn(const LeafType* constants) {
  if (constants == nullptr) return "a function";
  return "a function, or a constant: " + constants->describe();
}

}  // namespace tenon::detail
