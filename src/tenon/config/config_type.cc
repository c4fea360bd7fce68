#include "tenon/config/config_type.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/config/checker.h"

namespace tenon {
namespace {

// The class's own name: "Linear" of "nn::Linear".
std::string_view unqualified(std::string_view name) {
  const size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

void add_docs(std::vector<Field>& fields, std::initializer_list<FieldDoc> docs, std::string_view owner) {
  for (const FieldDoc& doc : docs) {
    const auto it = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == doc.field; });
    tenon::check(it != fields.end(), fmt::format("{} documents a field it doesn't have: {}", owner, doc.field));
    it->doc = doc.doc;
  }
}

void check_names(std::span<const Field> fields, std::string_view owner) {
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string_view name = fields[i].name;
    tenon::check(name != "type", fmt::format("{} has a field called type, which names the class in text", owner));
    tenon::check(find_field(fields.first(i), name) == nullptr, fmt::format("{} has two fields called {}", owner, name));
  }
}

}  // namespace

ConfigType::ConfigType(Parts parts, std::initializer_list<FieldDoc> docs) : parts_(std::move(parts)) {
  parts_.name = unqualified(parts_.name);
  if (parts_.base != nullptr) fields_ = parts_.base->fields_;
  fields_.insert(fields_.end(), parts_.own_fields.begin(), parts_.own_fields.end());
  add_docs(fields_, docs, parts_.name);
  check_names(fields_, parts_.name);
}

bool ConfigType::is_a(const ConfigType& other) const {
  for (const ConfigType* type = this; type != nullptr; type = type->base()) {
    if (type == &other) return true;
  }
  return false;
}

size_t ConfigType::num_interface_fields() const {
  const ConfigType* type = this;
  while (!type->is_abstract()) type = type->base();
  return type->fields_.size();
}

std::unique_ptr<AnyConfig> ConfigType::make() const {
  if (is_abstract()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} is an interface and can't be made", name()));
  }
  return parts_.make();
}

std::unique_ptr<AnyConfig> ConfigType::clone(const AnyConfig& config) const { return parts_.clone(config); }
std::unique_ptr<Configurable> ConfigType::construct(const AnyConfig& config) const { return parts_.build(config); }

void ConfigType::check(const AnyConfig& config, Checker& checker) const {
  if (parts_.base != nullptr) parts_.base->check(config, checker);
  if (parts_.check != nullptr) parts_.check(config, checker);
}

FnType::FnType(Parts parts, std::initializer_list<FieldDoc> docs) : parts_(std::move(parts)) {
  parts_.name = unqualified(parts_.name);
  add_docs(parts_.fields, docs, parts_.name);
  check_names(parts_.fields, parts_.name);
}

void FnType::check(const void* function, Checker& checker) const {
  if (parts_.check != nullptr) parts_.check(function, checker);
}

const Field* find_field(std::span<const Field> fields, std::string_view name) {
  const auto it = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
  return it == fields.end() ? nullptr : &*it;
}

std::vector<std::string> field_names(std::span<const Field> fields) {
  std::vector<std::string> names;
  for (const Field& field : fields) names.emplace_back(field.name);
  return names;
}

}  // namespace tenon
