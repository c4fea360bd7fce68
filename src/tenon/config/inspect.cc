#include "tenon/config/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tenon/base/error.h"
#include "tenon/base/text.h"
#include "tenon/config/config_type.h"
#include "tenon/config/path_pattern.h"
#include "tenon/config/tree.h"

namespace tenon {
namespace {

// Every line as defaults give it, a config's own where no parent puts one of its class there.
class DefaultLines : public TreeVisitor {
 public:
  bool enter(const Path& path, AnyConfig& config) override {
    const std::string prefix = path.empty() ? "" : format_path(path) + ".";
    const auto type = lines_.find(prefix + "type");
    if (type != lines_.end() && type->second == quote(config.type().name())) return true;
    if (!prefix.empty()) {
      // A root's type isn't news; a child's is, where its parent has another or none.
      if (type != lines_.end()) erase_under(prefix);
    }
    for (const auto& [relative, value] : flatten(*config.type().make())) {
      if (prefix.empty() || relative != "type") lines_[prefix + relative] = value;
    }
    return true;
  }
  bool has(const TextLine& line) const {
    const auto it = lines_.find(line.path);
    return it != lines_.end() && it->second == line.value;
  }

 private:
  void erase_under(const std::string& prefix) {
    auto it = lines_.lower_bound(prefix);
    while (it != lines_.end() && it->first.starts_with(prefix)) it = lines_.erase(it);
  }
  std::map<std::string, std::string> lines_;
};

class TreeFormatter : public TreeVisitor {
 public:
  bool enter(const Path& path, AnyConfig& config) override {
    // The part of the path behind the config above.
    while (!depths_.empty() && depths_.back() >= path.size()) depths_.pop_back();
    const size_t from = depths_.empty() ? 0 : depths_.back();
    const Path own(path.begin() + static_cast<int64_t>(from), path.end());
    const std::string name = path.empty() ? "" : format_path(own) + ": ";
    text_ += fmt::format("{}{}{}\n", std::string(2 * depths_.size(), ' '), name, config.type().name());
    depths_.push_back(path.size());
    return true;
  }
  const std::string& text() const { return text_; }

 private:
  std::vector<size_t> depths_;  // lengths of the paths of the configs that are open
  std::string text_;
};

std::string describe_fields(std::span<const Field> fields, const std::map<std::string, std::string>& defaults) {
  std::string text;
  for (const Field& field : fields) {
    const std::string name(field.name);
    const ValueType& type = field.type();
    const bool required = type.kind() == ValueType::Kind::holder && static_cast<const HolderType&>(type).is_required();
    std::string value = required ? "required" : "";
    if (const auto it = defaults.find(name); it != defaults.end()) value = "default " + it->second;
    if (const auto it = defaults.find(name + ".type"); it != defaults.end()) value = "default " + it->second;
    text += fmt::format("  {}: {}{}\n", name, type.describe(), value.empty() ? "" : "; " + value);
    if (!field.doc.empty()) text += fmt::format("      {}\n", field.doc);
  }
  return text;
}

std::map<std::string, std::string> default_lines(const AnyConfig& config) {
  std::map<std::string, std::string> out;
  for (const auto& [path, value] : flatten(config)) out.emplace(path, value);
  return out;
}

template <class T>
std::string names_of(const std::vector<const T*>& types) {
  std::vector<std::string> names;
  for (const T* type : types) names.emplace_back(type->name());
  return join(names, ", ");
}

std::string describe_config(const Registry& registry, const ConfigType& type) {
  std::string text = fmt::format("{}: {}\n", type.name(), type.doc());
  for (const ConfigType* base = type.base(); base != nullptr && base->base() != nullptr; base = base->base()) {
    text += fmt::format("is a {}: {}\n", base->name(), base->doc());
  }
  if (type.is_abstract())
    return text + "implementations: " + names_of(registry.implementations(type)) + "\n" +
           describe_fields(type.fields(), {});
  return text + describe_fields(type.fields(), default_lines(*type.make()));
}

// Holds any function, to print its defaults: what FnType::make gives has no text of its own.
std::string describe_function(const Registry& registry, const FnType& type) {
  std::string text = fmt::format("{}: {}\nfunction {}\n", type.name(), type.doc(), type.signature_text());
  text += "of the same signature: " + names_of(registry.functions(type.signature())) + "\n";
  const std::unique_ptr<detail::FnHolder> holder = type.make();
  std::map<std::string, std::string> defaults;
  for (const Field& field : type.fields()) {
    const ValueRef value{&field.type(), field.get(holder->object())};
    if (value.kind() == ValueType::Kind::leaf) {
      defaults.emplace(field.name, value.as<LeafType>().write(value.data).text());
    }
  }
  return text + describe_fields(type.fields(), defaults);
}

}  // namespace

std::vector<TextLine> lines_off_default(const AnyConfig& config) {
  DefaultLines defaults;
  walk(config, defaults);
  std::vector<TextLine> lines = flatten(config);
  std::erase_if(lines, [&](const TextLine& line) { return defaults.has(line); });
  return lines;
}

std::string format_tree(const AnyConfig& config) {
  TreeFormatter formatter;
  walk(config, formatter);
  return formatter.text();
}

std::vector<TextLine> find_lines(const AnyConfig& config, const std::string& pattern) {
  std::vector<TextLine> lines = flatten(config);
  if (pattern.find('*') != std::string::npos) {
    const PathPattern paths(pattern);
    std::erase_if(lines, [&](const TextLine& line) { return !paths.matches(parse_path(line.path)); });
  } else {
    std::erase_if(lines, [&](const TextLine& line) {
      return line.path.find(pattern) == std::string::npos && line.value.find(pattern) == std::string::npos;
    });
  }
  return lines;
}

std::string describe_type(const Registry& registry, std::string_view name) {
  if (const FnType* function = registry.find_fn_type(name)) return describe_function(registry, *function);
  std::vector<std::string> functions;
  for (const FnType* type : registry.functions()) functions.emplace_back(type->name());
  try {
    return describe_config(registry, registry.class_type(name));
  } catch (Error& error) {
    throw std::move(error).hint(error.hint().empty() ? did_you_mean(name, functions) : error.hint());
  }
}

std::string list_types(const Registry& registry) {
  std::map<std::string, std::vector<std::string>> groups;
  for (const ConfigType* type : registry.implementations(AnyConfig::static_type())) {
    groups[std::string(type->base()->name())].push_back(fmt::format("  {:<24} {}\n", type->name(), type->doc()));
  }
  for (const FnType* type : registry.functions()) {
    groups["function " + std::string(type->signature_text())].push_back(
        fmt::format("  {:<24} {}\n", type->name(), type->doc()));
  }
  std::string text;
  for (const auto& [group, lines] : groups) text += group + "\n" + join(lines, "");
  return text;
}

}  // namespace tenon
