#include "tenon/config/apply.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/text.h"
#include "tenon/config/access.h"
#include "tenon/config/modify.h"
#include "tenon/config/toml.h"
#include "tenon/config/tree.h"
#include "tenon/config/validate.h"

namespace tenon {
namespace {

using Kind = ValueType::Kind;
using Table = Value::Table;

Error wrong_type(const ValueType& type, const Value& value) {
  return value_error(ErrorCode::wrong_type, value, "a value of the wrong type")
      .got(value.describe())
      .expected(type.describe())
      .hint(why_bare(value));
}

class Applier {
 public:
  Applier(ApplyMode mode, const Registry& registry) : whole_(mode == ApplyMode::whole), registry_(registry) {}

  void root(AnyConfig& config, const Value& value) {
    if (value.as<Table>() == nullptr) throw value_error(ErrorCode::wrong_type, value, "a config is a table");
    const Value* type = value.find("type");
    if (type != nullptr && (type->as<std::string>() == nullptr || *type->as<std::string>() != config.type().name())) {
      throw value_error(ErrorCode::wrong_type, *type, "the root of a tree can't be replaced")
          .at("type")
          .got(type->describe())
          .expected(quote(config.type().name()));
    }
    fields(fields_of(config), value);
  }

 private:
  void apply_to(const ValueRef& target, const Value& value) {
    switch (target.kind()) {
      case Kind::leaf:
        return target.as<LeafType>().read(target.data, value);
      case Kind::holder:
        return holder(target.as<HolderType>(), target.data, value);
      case Kind::list:
        return list(target.as<ListType>(), target.data, value);
      case Kind::map:
        return map(target.as<MapType>(), target.data, value);
      case Kind::record:
        if (value.as<Table>() == nullptr) throw wrong_type(*target.type, value);
        return fields(fields_of(target), value);
      case Kind::slot:
        return slot(target.as<SlotType>(), target.data, value);
      case Kind::function:
        return function(target.as<FunctionType>(), target.data, value);
    }
  }

  // Applies to what is inside `target` under `name`; errors without a path get this one.
  void apply_inside(std::string name, const ValueRef& target, const Value& value) {
    path_.push_back(std::move(name));
    try {
      apply_to(target, value);
    } catch (Error& error) {
      if (error.path().empty()) error.at(format_path(path_));
      throw;
    }
    path_.pop_back();
  }

  void holder(const HolderType& type, void* data, const Value& value) {
    const Table* table = value.as<Table>();
    if (!type.is_required() && table != nullptr && table->empty()) return type.clear(data);
    if (whole_ && !type.is_required()) type.clear(data);
    apply_to({&type.inner(), type.engage(data)}, value);
  }

  void list(const ListType& type, void* data, const Value& value) {
    if (const auto* values = value.as<Value::List>()) {
      type.clear(data);
      for (size_t i = 0; i < values->size(); ++i) {
        apply_inside(fmt::format("{}", i), {&type.element(), type.append(data)}, (*values)[i]);
      }
      return;
    }
    const Table* table = value.as<Table>();
    if (table == nullptr || table->empty()) throw wrong_type(type, value);
    if (whole_) type.clear(data);
    for (const Value::Entry* entry : by_index(*table, type)) {
      const auto index = static_cast<size_t>(parse_index(entry->key));
      if (index > type.length(data)) throw out_of_range(*entry, type.length(data));
      void* element = index == type.length(data) ? type.append(data) : type.at(data, index);
      apply_inside(entry->key, {&type.element(), element}, entry->value);
    }
  }

  static std::vector<const Value::Entry*> by_index(const Table& table, const ListType& type) {
    std::vector<const Value::Entry*> entries;
    for (const Value::Entry& entry : table) {
      if (parse_index(entry.key) < 0) {
        throw value_error(ErrorCode::invalid_argument, entry.value, "a list's elements are numbered")
            .got(quote(entry.key))
            .expected(type.describe());
      }
      entries.push_back(&entry);
    }
    std::sort(entries.begin(), entries.end(),
              [](const auto* a, const auto* b) { return parse_index(a->key) < parse_index(b->key); });
    return entries;
  }

  static Error out_of_range(const Value::Entry& entry, size_t length) {
    return value_error(ErrorCode::invalid_argument, entry.value, "a list index out of range")
        .got(entry.key)
        .expected(fmt::format("at most {}, which appends", length));
  }

  void map(const MapType& type, void* data, const Value& value) {
    const Table* table = value.as<Table>();
    if (table == nullptr) throw wrong_type(type, value);
    if (whole_ || table->empty()) type.clear(data);
    for (const Value::Entry& entry : *table) {
      apply_inside(entry.key, {&type.element(), type.insert(data, entry.key)}, entry.value);
    }
  }

  void fields(const FieldGroup& group, const Value& value) {
    for (const Value::Entry& entry : *value.as<Table>()) {
      if (entry.key == "type" && !group.type_name.empty()) continue;
      const Field* field = find_field(group.fields, entry.key);
      if (field == nullptr) throw located(unknown_field(group, entry.key), entry.value);
      apply_inside(entry.key, {&field->type(), field->get(group.owner)}, entry.value);
    }
    if (whole_) unset_unnamed(group, value);
  }

  void unset_unnamed(const FieldGroup& group, const Value& value) {
    for (size_t i = 0; i < group.fields.size(); ++i) {
      const ValueRef field = group[i];
      if (value.find(group.fields[i].name) != nullptr) continue;
      if (field.kind() == Kind::record) fields(fields_of(field), Value(Table()));
      if (field.kind() == Kind::holder && field.as<HolderType>().is_required())
        field.as<HolderType>().clear(field.data);
    }
  }

  void slot(const SlotType& type, void* data, const Value& value) {
    const Table* table = value.as<Table>();
    if (table == nullptr) throw wrong_type(type, value);
    if (table->empty()) return type.set(data, nullptr);
    if (const Value* name = value.find("type")) {
      select_config(type, data, *name);
    } else if (type.get(data) == nullptr) {
      if (type.interface().is_abstract()) throw needs_type(value, names(registry_.implementations(type.interface())));
      type.set(data, type.interface().make());
    }
    fields(fields_of(*type.get(data)), value);
  }

  void select_config(const SlotType& type, void* data, const Value& name) {
    const std::vector<std::string> fitting = names(registry_.implementations(type.interface()));
    const std::string wanted = type_name(name, fitting);
    const ConfigType* found = registry_.find_config_type(wanted);
    if (found == nullptr) throw no_such_type(name, wanted, fitting);
    if (found->is_abstract() || !found->is_a(type.interface())) {
      throw does_not_fit(name, fmt::format("{} is no {} that can be built", wanted, type.interface().name()), fitting);
    }
    AnyConfig* current = type.get(data);
    if (current != nullptr && &current->type() == found && !whole_) return;
    std::unique_ptr<AnyConfig> next = found->make();
    if (current != nullptr && !whole_) carry_over(*current, *next);
    type.set(data, std::move(next));
  }

  void function(const FunctionType& type, void* data, const Value& value) {
    const Table* table = value.as<Table>();
    if (table == nullptr) {
      if (type.constants() == nullptr) throw wrong_type(type, value);
      return type.set_constant(data, value);
    }
    if (table->empty()) return type.set(data, nullptr);
    if (const Value* name = value.find("type")) {
      select_function(type, data, *name);
    } else if (type.fn(data).type() == nullptr) {
      throw needs_type(value, names(registry_.functions(type.signature())));
    }
    fields(fields_of(ValueRef{&type, data}), value);
  }

  void select_function(const FunctionType& type, void* data, const Value& name) {
    const std::vector<std::string> fitting = names(registry_.functions(type.signature()));
    const std::string wanted = type_name(name, fitting);
    const FnType* found = registry_.find_fn_type(wanted);
    if (found == nullptr) throw no_such_type(name, wanted, fitting);
    if (found->signature() != type.signature()) {
      throw does_not_fit(name, fmt::format("{} is a {}, another signature", wanted, found->signature_text()), fitting);
    }
    if (type.fn(data).type() != found || whole_) type.set(data, found->make());
  }

  template <class T>
  static std::vector<std::string> names(const std::vector<const T*>& types) {
    std::vector<std::string> names;
    for (const T* type : types) names.emplace_back(type->name());
    return names;
  }

  static std::string choices(const std::vector<std::string>& fitting) {
    return fitting.empty() ? "nothing: no registered type fits" : "one of " + join(fitting, ", ");
  }

  std::string type_path() const { return format_path(path_) + ".type"; }

  std::string type_name(const Value& name, const std::vector<std::string>& fitting) const {
    if (const auto* text = name.as<std::string>()) return *text;
    throw value_error(ErrorCode::wrong_type, name, "a type is named by a string")
        .at(type_path())
        .got(name.describe())
        .expected(choices(fitting));
  }

  Error no_such_type(const Value& name, const std::string& wanted, const std::vector<std::string>& fitting) const {
    return value_error(ErrorCode::unknown_name, name, fmt::format("no type is called {}", wanted))
        .at(type_path())
        .expected(choices(fitting))
        .hint(did_you_mean(wanted, fitting));
  }

  Error does_not_fit(const Value& name, std::string message, const std::vector<std::string>& fitting) const {
    return value_error(ErrorCode::wrong_type, name, message)
        .at(type_path())
        .got(name.describe())
        .expected(choices(fitting));
  }

  static Error needs_type(const Value& value, const std::vector<std::string>& fitting) {
    return value_error(ErrorCode::missing_field, value, "nothing is here yet whose fields could be set")
        .expected("a .type: " + choices(fitting));
  }

  // The error with the path of what was being applied, and where it was written.
  Error located(const Error& error, const Value& value) const {
    return value_error(error.code(), value, error.message()).at(format_path(path_)).hint(error.hint());
  }

  bool whole_;
  const Registry& registry_;
  Path path_;
};

}  // namespace

void apply(AnyConfig& config, const Value& table, ApplyMode mode, const Registry& registry) {
  Applier(mode, registry).root(config, table);
}

void change_checked(AnyConfig& config, const std::function<void(AnyConfig&)>& change, const Value& source) {
  const std::unique_ptr<AnyConfig> draft = clone(config);
  change(*draft);
  check_tree(*draft, source);
  const FieldGroup from = fields_of(*draft);
  const FieldGroup to = fields_of(config);
  for (size_t i = 0; i < to.fields.size(); ++i) to[i].type->assign(to[i].data, from[i].data);
}

}  // namespace tenon
