// Reading and writing one place of a tree, by path.
#pragma once

#include <string_view>
#include <typeinfo>

#include "tenon/config/any_config.h"
#include "tenon/config/registry.h"
#include "tenon/config/tree.h"
#include "tenon/config/value.h"

namespace tenon {

// The value at `path`, as declared. Throws `unknown_name` with the nearest names, `invalid_argument` for an index out
// of range or a path through something empty.
ValueRef find(AnyConfig& config, std::string_view path);

// The value at `path` as text can hold it; an empty optional, slot or function is an empty table, and so is an unset
// required field. `path.type` is the class name of what is in a slot or function.
Value get(const AnyConfig& config, std::string_view path);

// Sets the value at `path`, as a file with that one line would (apply.h), and runs no checks.
void set(AnyConfig& config, std::string_view path, const Value& value, const Registry& registry = Registry::global());

// The value at `path` as a T, or inside a Required<T> or optional<T> that is set; throws `wrong_type` when it is no T.
template <class T>
T& get_as(AnyConfig& config, std::string_view path);
template <class T>
const T& get_as(const AnyConfig& config, std::string_view path) {
  return get_as<T>(const_cast<AnyConfig&>(config), path);
}

namespace detail {
void* find_as(AnyConfig& config, std::string_view path, const std::type_info& type);
}
template <class T>
T& get_as(AnyConfig& config, std::string_view path) {
  return *static_cast<T*>(detail::find_as(config, path, typeid(T)));
}

// Parses a list index: digits, no leading zero. -1 for any other text.
int64_t parse_index(std::string_view text);

// The error for a name that isn't a field of `group`.
Error unknown_field(const FieldGroup& group, std::string_view name);

}  // namespace tenon
