// Walking a config tree value by value, whatever the types: what text, checks, diff and modifiers are made of.
#pragma once

#include <span>
#include <string_view>

#include "tenon/config/any_config.h"
#include "tenon/config/config_type.h"
#include "tenon/config/path.h"
#include "tenon/config/value_type.h"

namespace tenon {

// A value in a tree and its type. `data` is null where there is none (an empty optional, a constant's fields).
struct ValueRef {
  const ValueType* type = nullptr;
  void* data = nullptr;

  ValueType::Kind kind() const { return type->kind(); }
  // The type as its kind's class; only for that kind.
  template <class T>
  const T& as() const {
    return static_cast<const T&>(*type);
  }
};

// A named group of fields: a config, a nested struct or a function struct. Empty where there is none.
struct FieldGroup {
  std::span<const Field> fields;
  void* owner = nullptr;
  std::string_view type_name;  // "" for a nested struct

  ValueRef operator[](size_t i) const { return {&fields[i].type(), fields[i].get(owner)}; }
};
FieldGroup fields_of(AnyConfig& config);
// Of a record, a slot's config, or a function's struct.
FieldGroup fields_of(const ValueRef& value);

// `value` with Required and optional taken off; `data` is null when one of them is empty.
ValueRef unwrap(ValueRef value);

// Equal values, through all children. Both are of type `a.type`.
bool equal_values(const ValueRef& a, const ValueRef& b);
bool equal_fields(const FieldGroup& a, const FieldGroup& b);

// What a walk calls. Configs are announced before and after their fields; other values before what is inside them.
class TreeVisitor {
 public:
  virtual ~TreeVisitor() = default;
  // A config: the root, or a slot's. False: don't go into it (and `exit` isn't called).
  virtual bool enter(const Path&, AnyConfig&) { return true; }
  virtual void exit(const Path&, AnyConfig&) {}
  // Every value, as declared. False: don't go into it.
  virtual bool value(const Path&, const ValueRef&) { return true; }
  // After what is inside a value has been walked.
  virtual void after(const Path&, const ValueRef&) {}
};
void walk(AnyConfig& root, TreeVisitor& visitor);
// The visitor must change nothing.
void walk(const AnyConfig& root, TreeVisitor& visitor);
// Walks one value, whose path is `path`.
void walk_value(const ValueRef& value, Path& path, TreeVisitor& visitor);

}  // namespace tenon
