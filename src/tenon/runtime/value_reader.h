// Private to this folder: reading the values of a device's table. Errors are at their file and line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/config/value.h"

namespace tenon {

// The value as a T. Throws `wrong_type`: "not a text".
template <class T>
const T& read_as(const Value& value, std::string_view expected) {
  const T* got = value.as<T>();
  if (got != nullptr) return *got;
  throw Error(ErrorCode::wrong_type, "not " + std::string(expected)).at(value.where).got(value.describe());
}

// Throws `unknown_name` with the names there are and the nearest.
[[noreturn]] void refuse_key(const Value::Entry& entry, std::string_view owner, const std::vector<std::string>& keys);

}  // namespace tenon
