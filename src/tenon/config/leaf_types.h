// The leaf types a field may have. Included by define.h, for .cc files only.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "tenon/base/dtype.h"
#include "tenon/base/partition_spec.h"
#include "tenon/config/fields.h"
#include "tenon/config/value_type.h"

namespace tenon::detail {

template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T e) {
  { tenon_enum_names(e) } -> std::same_as<std::span<const EnumName>>;
};

template <class T>
concept LeafValue =
    std::same_as<T, bool> || std::same_as<T, int64_t> || std::same_as<T, double> || std::same_as<T, std::string> ||
    std::same_as<T, DType> || std::same_as<T, PartitionSpec> || std::same_as<T, Value> || NamedEnum<T>;

// Text conversion of the leaf types that aren't enums; the readers throw `wrong_type` or `invalid_argument`.
Value write_leaf(bool value);
Value write_leaf(int64_t value);
Value write_leaf(double value);
Value write_leaf(const std::string& value);
Value write_leaf(DType value);
Value write_leaf(const PartitionSpec& value);
Value write_leaf(const Value& value);
void read_leaf(bool& to, const Value& from);
void read_leaf(int64_t& to, const Value& from);
void read_leaf(double& to, const Value& from);
void read_leaf(std::string& to, const Value& from);
void read_leaf(DType& to, const Value& from);
void read_leaf(PartitionSpec& to, const Value& from);
void read_leaf(Value& to, const Value& from);
std::string describe_leaf(const std::type_info& type);

int64_t read_enum(std::span<const EnumName> names, const Value& from);
std::string describe_enum(std::span<const EnumName> names);

// Equal as config values: a NaN equals itself, so that a tree equals its copy.
template <class T>
bool equal_leaf(const T& a, const T& b) {
  if constexpr (std::same_as<T, double>) {
    return a == b || (a != a && b != b);
  } else if constexpr (std::same_as<T, Value>) {
    return a.text() == b.text();
  } else {
    return a == b;
  }
}

template <LeafValue T>
class LeafTypeOf final : public LeafType {
 public:
  LeafTypeOf() : LeafType(Kind::leaf, sizeof(T), alignof(T), typeid(T)) {}
  std::string describe() const override {
    if constexpr (NamedEnum<T>) {
      return describe_enum(tenon_enum_names(T{}));
    } else {
      return describe_leaf(typeid(T));
    }
  }
  void assign(void* to, const void* from) const override { *static_cast<T*>(to) = *static_cast<const T*>(from); }
  bool equal(const void* a, const void* b) const override {
    return equal_leaf(*static_cast<const T*>(a), *static_cast<const T*>(b));
  }
  Value write(const void* leaf) const override {
    if constexpr (NamedEnum<T>) {
      return Value(to_string(*static_cast<const T*>(leaf)));
    } else {
      return write_leaf(*static_cast<const T*>(leaf));
    }
  }
  void read(void* leaf, const Value& value) const override {
    if constexpr (NamedEnum<T>) {
      *static_cast<T*>(leaf) = static_cast<T>(read_enum(tenon_enum_names(T{}), value));
    } else {
      read_leaf(*static_cast<T*>(leaf), value);
    }
  }
};

}  // namespace tenon::detail
