// docs/layers.md is written from the registry. After a change of a layer's config, write it again by running this test
// with TENON_UPDATE_GOLDEN=1.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "tenon/base/file.h"
#include "tenon/config/config_type.h"
#include "tenon/config/inspect.h"
#include "tenon/config/registry.h"
#include "tenon/config/tree.h"
#include "tenon/config/value_type.h"
#include "tenon/nn/module.h"
#include "tenon/nn/register.h"

namespace tenon {
namespace {

using Defaults = std::map<std::string, std::string>;

std::string cell(std::string text) {
  for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.replace(at, 1, "\\|");
  return text;
}

std::string default_of(const Field& field, const Defaults& defaults) {
  const ValueType& type = field.type();
  if (type.kind() == ValueType::Kind::holder && static_cast<const HolderType&>(type).is_required()) return "required";
  const std::string name(field.name);
  if (const auto it = defaults.find(name + ".type"); it != defaults.end()) return it->second;
  const auto it = defaults.find(name);
  return it == defaults.end() ? "" : it->second;
}

std::string fields_table(std::span<const Field> fields, const Defaults& defaults) {
  if (fields.empty()) return "";
  std::string out = "\n| field | type | default | |\n|---|---|---|---|\n";
  for (const Field& field : fields) {
    out += fmt::format("| `{}` | {} | {} | {} |\n", field.name, cell(field.type().describe()),
                       cell(default_of(field, defaults)), cell(std::string(field.doc)));
  }
  return out;
}

Defaults defaults_of(const ConfigType& type) {
  Defaults out;
  for (const auto& [path, value] : flatten(*type.make())) out.emplace(path, value);
  return out;
}

Defaults defaults_of(const FnType& type, detail::FnHolder& holder) {
  Defaults out;
  for (const Field& field : type.fields()) {
    const ValueRef value{&field.type(), field.get(holder.object())};
    if (value.kind() == ValueType::Kind::leaf) out.emplace(field.name, value.as<LeafType>().write(value.data).text());
  }
  return out;
}

// Fields of Module itself are told of once.
std::span<const Field> own_fields(const ConfigType& type) {
  return type.fields().subspan(Module::Config::static_type().fields().size());
}

std::string layers_document() {
  Registry registry;
  register_nn(registry);
  const ConfigType& module = Module::Config::static_type();
  std::string out =
      "# Layers\n\nWritten from the registry by `src/tenon/nn/layers_docs_test.cc`; `tenon config doc NAME` says the "
      "same. "
      "Shapes, units and\nsources stand beside each class in `src/tenon/nn`. Fields that a parent sets are marked "
      "required. Every module has\n`remat` (what the backward pass keeps of it), `compute_dtype` (what its parameters "
      "are read in) and `param_dtype`\n(what they are stored in).\n";
  std::map<std::string, std::vector<const ConfigType*>> groups;
  for (const ConfigType* type : registry.implementations(module))
    groups[std::string(type->base()->name())].push_back(type);
  for (const auto& [group, types] : groups) {
    const ConfigType& interface = *types[0]->base();
    out += &interface == &module ? "\n## Modules that stand for themselves\n"
                                 : fmt::format("\n## {}: {}\n", group, interface.doc());
    for (const ConfigType* type : types) {
      out += fmt::format("\n### {}\n{}\n{}", type->name(), type->doc(),
                         fields_table(own_fields(*type), defaults_of(*type)));
    }
  }
  std::map<std::string, std::vector<const FnType*>> signatures;
  for (const FnType* type : registry.functions()) signatures[std::string(type->signature_text())].push_back(type);
  for (const auto& [signature, types] : signatures) {
    out += fmt::format("\n## Functions {}\n", signature);
    for (const FnType* type : types) {
      const auto holder = type->make();
      out += fmt::format("\n### {}\n{}\n{}", type->name(), type->doc(),
                         fields_table(type->fields(), defaults_of(*type, *holder)));
    }
  }
  return out;
}

TEST(LayerDocs, ListEveryLayer) {
  const std::string file = std::string(TENON_SOURCE_DIR) + "/docs/layers.md";
  const std::string text = layers_document();
  if (std::getenv("TENON_UPDATE_GOLDEN") != nullptr) write_file_atomic(file, text).value();
  EXPECT_EQ(text, read_file(file).value());
}

}  // namespace
}  // namespace tenon
