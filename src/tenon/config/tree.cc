#include "tenon/config/tree.h"

#include <fmt/format.h>

namespace tenon {
namespace {

using Kind = ValueType::Kind;

bool equal_lists(const ListType& type, void* a, void* b) {
  if (type.length(a) != type.length(b)) return false;
  for (size_t i = 0; i < type.length(a); ++i) {
    if (!equal_values({&type.element(), type.at(a, i)}, {&type.element(), type.at(b, i)})) return false;
  }
  return true;
}

bool equal_maps(const MapType& type, void* a, void* b) {
  const auto keys = type.keys(a);
  if (keys != type.keys(b)) return false;
  for (const std::string& key : keys) {
    if (!equal_values({&type.element(), type.find(a, key)}, {&type.element(), type.find(b, key)})) return false;
  }
  return true;
}

void walk_config(AnyConfig& config, Path& path, TreeVisitor& visitor);

void walk_child(std::string name, const ValueRef& child, Path& path, TreeVisitor& visitor) {
  path.push_back(std::move(name));
  walk_value(child, path, visitor);
  path.pop_back();
}

void walk_fields(const FieldGroup& group, Path& path, TreeVisitor& visitor) {
  for (size_t i = 0; i < group.fields.size(); ++i)
    walk_child(std::string(group.fields[i].name), group[i], path, visitor);
}

void walk_inside(const ValueRef& value, Path& path, TreeVisitor& visitor) {
  switch (value.kind()) {
    case Kind::leaf:
      return;
    case Kind::holder:
      if (const ValueRef inner = unwrap(value); inner.data != nullptr) walk_value(inner, path, visitor);
      return;
    case Kind::list: {
      const auto& type = value.as<ListType>();
      for (size_t i = 0; i < type.length(value.data); ++i) {
        walk_child(fmt::format("{}", i), {&type.element(), type.at(value.data, i)}, path, visitor);
      }
      return;
    }
    case Kind::map: {
      const auto& type = value.as<MapType>();
      for (const std::string& key : type.keys(value.data)) {
        walk_child(key, {&type.element(), type.find(value.data, key)}, path, visitor);
      }
      return;
    }
    case Kind::slot:
      if (AnyConfig* config = value.as<SlotType>().get(value.data)) walk_config(*config, path, visitor);
      return;
    case Kind::record:
    case Kind::function:
      walk_fields(fields_of(value), path, visitor);
      return;
  }
}

void walk_config(AnyConfig& config, Path& path, TreeVisitor& visitor) {
  if (!visitor.enter(path, config)) return;
  walk_fields(fields_of(config), path, visitor);
  visitor.exit(path, config);
}

}  // namespace

FieldGroup fields_of(AnyConfig& config) { return {config.type().fields(), &config, config.type().name()}; }

FieldGroup fields_of(const ValueRef& value) {
  if (value.kind() == Kind::record) return {value.as<RecordType>().fields(), value.data, {}};
  if (value.kind() == Kind::slot) {
    AnyConfig* config = value.as<SlotType>().get(value.data);
    return config != nullptr ? fields_of(*config) : FieldGroup{};
  }
  if (value.kind() != Kind::function) return {};
  const auto& function = value.as<FunctionType>();
  const FnType* type = function.fn(value.data).type();
  return type != nullptr ? FieldGroup{type->fields(), function.get(value.data), type->name()} : FieldGroup{};
}

ValueRef unwrap(ValueRef value) {
  while (value.data != nullptr && value.kind() == Kind::holder) {
    const auto& holder = value.as<HolderType>();
    value = {&holder.inner(), holder.get(value.data)};
  }
  return value;
}

bool equal_fields(const FieldGroup& a, const FieldGroup& b) {
  for (size_t i = 0; i < a.fields.size(); ++i) {
    if (!equal_values(a[i], b[i])) return false;
  }
  return true;
}

bool equal_values(const ValueRef& a, const ValueRef& b) {
  if (a.data == nullptr || b.data == nullptr) return a.data == b.data;
  switch (a.kind()) {
    case Kind::leaf:
      return a.as<LeafType>().equal(a.data, b.data);
    case Kind::holder: {
      const auto& holder = a.as<HolderType>();
      return equal_values({&holder.inner(), holder.get(a.data)}, {&holder.inner(), holder.get(b.data)});
    }
    case Kind::list:
      return equal_lists(a.as<ListType>(), a.data, b.data);
    case Kind::map:
      return equal_maps(a.as<MapType>(), a.data, b.data);
    case Kind::slot: {
      const auto& type = a.as<SlotType>();
      return type.slot(a.data) == type.slot(b.data);
    }
    case Kind::function: {
      const auto& type = a.as<FunctionType>();
      return type.fn(a.data) == type.fn(b.data);
    }
    case Kind::record:
      return equal_fields(fields_of(a), fields_of(b));
  }
  return false;
}

void walk(AnyConfig& root, TreeVisitor& visitor) {
  Path path;
  walk_config(root, path, visitor);
}

void walk(const AnyConfig& root, TreeVisitor& visitor) { walk(const_cast<AnyConfig&>(root), visitor); }

void walk_value(const ValueRef& value, Path& path, TreeVisitor& visitor) {
  if (!visitor.value(path, value)) return;
  walk_inside(value, path, visitor);
  visitor.after(path, value);
}

}  // namespace tenon
