#include "tenon/config/registry.h"

#include <fmt/format.h>

#include "tenon/base/error.h"
#include "tenon/base/text.h"
#include "tenon/config/config_type.h"

namespace tenon {
namespace {

template <class Map, class T>
void add_to(Map& map, const T& type) {
  const auto [it, added] = map.try_emplace(std::string(type.name()), &type);
  if (!added && it->second != &type) {
    throw Error(ErrorCode::invalid_argument, fmt::format("two types are called {}", type.name()))
        .hint("names in text are class names: rename one of the classes");
  }
}

template <class Map>
auto find_in(const Map& map, std::string_view name) -> typename Map::mapped_type {
  const auto it = map.find(name);
  return it == map.end() ? nullptr : it->second;
}

template <class Map>
[[noreturn]] void throw_unknown(const Map& map, std::string_view what, std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [known, type] : map) names.push_back(known);
  throw Error(ErrorCode::unknown_name, fmt::format("no {} is called {}", what, name)).hint(did_you_mean(name, names));
}

}  // namespace

void Registry::add(const ConfigType& type) { add_to(configs_, type); }
void Registry::add(const FnType& type) { add_to(functions_, type); }

const ConfigType* Registry::find_config_type(std::string_view name) const { return find_in(configs_, name); }
const FnType* Registry::find_fn_type(std::string_view name) const { return find_in(functions_, name); }

const ConfigType& Registry::config_type(std::string_view name) const {
  if (const ConfigType* type = find_config_type(name)) return *type;
  throw_unknown(configs_, "type", name);
}

const FnType& Registry::fn_type(std::string_view name) const {
  if (const FnType* type = find_fn_type(name)) return *type;
  throw_unknown(functions_, "function", name);
}

const ConfigType& Registry::class_type(std::string_view name) const {
  auto all = configs_;
  for (const ConfigType* interface : interfaces()) all.try_emplace(std::string(interface->name()), interface);
  if (const ConfigType* type = find_in(all, name)) return *type;
  throw_unknown(all, "class", name);
}

std::vector<const ConfigType*> Registry::implementations(const ConfigType& interface) const {
  std::vector<const ConfigType*> found;
  for (const auto& [name, type] : configs_) {
    if (!type->is_abstract() && type->is_a(interface)) found.push_back(type);
  }
  return found;
}

std::vector<const ConfigType*> Registry::interfaces() const {
  std::map<std::string_view, const ConfigType*> found;
  for (const auto& [name, type] : configs_) {
    for (const ConfigType* base = type->base(); base != nullptr; base = base->base()) found.emplace(base->name(), base);
  }
  std::vector<const ConfigType*> out;
  for (const auto& [name, type] : found) {
    if (type->is_abstract()) out.push_back(type);
  }
  return out;
}

std::vector<const FnType*> Registry::functions() const {
  std::vector<const FnType*> found;
  for (const auto& [name, type] : functions_) found.push_back(type);
  return found;
}

std::vector<const FnType*> Registry::functions(const std::type_info& signature) const {
  std::vector<const FnType*> found;
  for (const auto& [name, type] : functions_) {
    if (type->signature() == signature) found.push_back(type);
  }
  return found;
}

Registry& Registry::global() {
  static Registry registry;
  return registry;
}

}  // namespace tenon
