#include "tenon/config/access.h"

#include <fmt/format.h>

#include "tenon/base/error.h"
#include "tenon/base/text.h"
#include "tenon/config/apply.h"

namespace tenon {
namespace {

using Kind = ValueType::Kind;

ValueRef step_into_list(const ListType& list, void* data, std::string_view name) {
  const auto length = static_cast<int64_t>(list.length(data));
  const int64_t index = parse_index(name);
  if (index < 0 || index >= length) {
    throw Error(ErrorCode::invalid_argument, "no such list element")
        .got(std::string(name))
        .expected(length == 0 ? "nothing: the list is empty" : fmt::format("an index from 0 to {}", length - 1));
  }
  return {&list.element(), list.at(data, static_cast<size_t>(index))};
}

ValueRef step_into_map(const MapType& map, void* data, const std::string& name) {
  if (void* found = map.find(data, name)) return {&map.element(), found};
  throw Error(ErrorCode::unknown_name, fmt::format("the map has no {}", quote(name)))
      .hint(did_you_mean(name, map.keys(data)));
}

ValueRef step_into_fields(const FieldGroup& group, std::string_view name) {
  const Field* field = find_field(group.fields, name);
  if (field == nullptr) throw unknown_field(group, name);
  return {&field->type(), field->get(group.owner)};
}

ValueRef step(const ValueRef& declared, const std::string& name) {
  const ValueRef value = unwrap(declared);
  if (value.data == nullptr)
    throw Error(ErrorCode::invalid_argument, fmt::format("nothing is set here to hold {}", name));
  if (value.kind() == Kind::list) return step_into_list(value.as<ListType>(), value.data, name);
  if (value.kind() == Kind::map) return step_into_map(value.as<MapType>(), value.data, name);
  const FieldGroup group = fields_of(value);
  if (group.owner == nullptr)
    throw Error(ErrorCode::unknown_name, fmt::format("there is no {} inside this value", name));
  return step_into_fields(group, name);
}

ValueRef find_parts(AnyConfig& config, const Path& parts) {
  if (parts.empty()) throw Error(ErrorCode::invalid_argument, "an empty path names no field");
  Path done;
  try {
    ValueRef value = step_into_fields(fields_of(config), parts[0]);
    for (size_t i = 1; i < parts.size(); ++i) {
      done.push_back(parts[i - 1]);
      value = step(value, parts[i]);
    }
    return value;
  } catch (Error& error) {
    error.at(format_path(done));
    throw;
  }
}

Value to_value(const ValueRef& declared);

Value::Table fields_to_table(const FieldGroup& group) {
  Value::Table table;
  if (!group.type_name.empty()) table.push_back({"type", group.type_name});
  for (size_t i = 0; i < group.fields.size(); ++i) {
    if (const ValueRef field = group[i]; field.kind() != Kind::holder || unwrap(field).data != nullptr) {
      table.push_back({std::string(group.fields[i].name), to_value(field)});
    }
  }
  return table;
}

Value to_value(const ValueRef& declared) {
  const ValueRef value = unwrap(declared);
  if (value.data == nullptr) return {};
  if (value.kind() == Kind::leaf) return value.as<LeafType>().write(value.data);
  if (value.kind() == Kind::list) {
    const auto& type = value.as<ListType>();
    Value::List list;
    for (size_t i = 0; i < type.length(value.data); ++i)
      list.push_back(to_value({&type.element(), type.at(value.data, i)}));
    return list;
  }
  if (value.kind() == Kind::map) {
    const auto& type = value.as<MapType>();
    Value::Table table;
    for (const std::string& key : type.keys(value.data)) {
      table.push_back({key, to_value({&type.element(), type.find(value.data, key)})});
    }
    return table;
  }
  if (value.kind() == Kind::function) {
    const auto& type = value.as<FunctionType>();
    if (type.fn(value.data).is_constant()) return type.constants()->write(type.get(value.data));
  }
  return fields_to_table(fields_of(value));
}

}  // namespace

ValueRef find(AnyConfig& config, std::string_view path) { return find_parts(config, parse_path(path)); }

Value get(const AnyConfig& config, std::string_view path) {
  Path parts = parse_path(path);
  auto& tree = const_cast<AnyConfig&>(config);
  if (parts.empty()) return fields_to_table(fields_of(tree));
  if (parts.back() == "type") {
    if (parts.size() == 1) return config.type().name();
    parts.pop_back();
    const ValueRef value = unwrap(find_parts(tree, parts));
    const FieldGroup group = value.data != nullptr ? fields_of(value) : FieldGroup{};
    if (!group.type_name.empty()) return group.type_name;
    parts.push_back("type");
  }
  return to_value(find_parts(tree, parts));
}

void set(AnyConfig& config, std::string_view path, const Value& value, const Registry& registry) {
  Path parts = parse_path(path);
  if (parts.empty()) throw Error(ErrorCode::invalid_argument, "an empty path names no field");
  Value nested = value;
  for (; !parts.empty(); parts.pop_back()) {
    Value::Table table;
    table.push_back({parts.back(), std::move(nested)});
    nested = Value(std::move(table));
    nested.where = value.where;
  }
  apply(config, nested, ApplyMode::overlay, registry);
}

int64_t parse_index(std::string_view text) {
  constexpr size_t kMaxDigits = 9;
  const bool canonical = !text.empty() && text.size() <= kMaxDigits && (text[0] != '0' || text.size() == 1) &&
                         text.find_first_not_of("0123456789") == std::string_view::npos;
  return canonical ? parse_int(text).value() : -1;
}

Error unknown_field(const FieldGroup& group, std::string_view name) {
  const std::vector<std::string> names = field_names(group.fields);
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) hint = names.empty() ? "it has no fields" : "its fields are " + join(names, ", ");
  const std::string_view owner = group.type_name.empty() ? "this struct" : group.type_name;
  return Error(ErrorCode::unknown_name, fmt::format("{} has no field {}", owner, name)).hint(std::move(hint));
}

namespace detail {

void* find_as(AnyConfig& config, std::string_view path, const std::type_info& type) {
  ValueRef value = find(config, path);
  while (value.data != nullptr && value.type->cpp_type() != type && value.kind() == Kind::holder) {
    const auto& holder = value.as<HolderType>();
    value = {&holder.inner(), holder.get(value.data)};
  }
  if (value.type->cpp_type() != type) {
    throw Error(ErrorCode::wrong_type, "the field has another C++ type")
        .at(std::string(path))
        .got(value.type->describe());
  }
  if (value.data == nullptr) throw Error(ErrorCode::missing_field, "the field isn't set").at(std::string(path));
  return value.data;
}

}  // namespace detail
}  // namespace tenon
