#include "tenon/config/text.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/text.h"
#include "tenon/base/utf8.h"
#include "tenon/config/access.h"
#include "tenon/config/apply.h"
#include "tenon/config/toml.h"
#include "tenon/config/tree.h"
#include "tenon/config/validate.h"

namespace tenon {
namespace {

using Kind = ValueType::Kind;

class Flattener : public TreeVisitor {
 public:
  struct Line {
    Path path;
    std::string value;
  };

  bool enter(const Path& path, AnyConfig& config) override {
    add_type(path, config.type().name());
    return true;
  }

  bool value(const Path& path, const ValueRef& value) override {
    switch (value.kind()) {
      case Kind::leaf:
        lines_.push_back({path, value.as<LeafType>().write(value.data).text()});
        break;
      case Kind::holder: {
        const auto& holder = value.as<HolderType>();
        if (holder.get(value.data) == nullptr && !holder.is_required()) lines_.push_back({path, "{}"});
        break;
      }
      case Kind::list:
        if (value.as<ListType>().length(value.data) == 0) lines_.push_back({path, "[]"});
        break;
      case Kind::map:
        if (value.as<MapType>().keys(value.data).empty()) lines_.push_back({path, "{}"});
        break;
      case Kind::slot:
        if (value.as<SlotType>().get(value.data) == nullptr) lines_.push_back({path, "{}"});
        break;
      case Kind::function:
        add_function(path, value.as<FunctionType>(), value.data);
        break;
      case Kind::record:
        break;
    }
    return true;
  }

  std::vector<Line> sorted() && {
    std::sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) { return path_less(a.path, b.path); });
    return std::move(lines_);
  }

 private:
  void add_type(Path path, std::string_view name) {
    path.push_back("type");
    lines_.push_back({std::move(path), quote(name)});
  }

  void add_function(const Path& path, const FunctionType& type, void* data) {
    const AnyFn& fn = type.fn(data);
    if (!fn.has_value()) {
      lines_.push_back({path, "{}"});
    } else if (fn.is_constant()) {
      lines_.push_back({path, type.constants()->write(type.get(data)).text()});
    } else {
      add_type(path, fn.type()->name());
    }
  }

  std::vector<Line> lines_;
};

std::vector<Flattener::Line> lines_of(const AnyConfig& config) {
  Flattener flattener;
  walk(config, flattener);
  return std::move(flattener).sorted();
}

// The class that the text's `type` line names.
const ConfigType& root_type(const Value& table, const Registry& registry) {
  const Value* type = table.find("type");
  if (type == nullptr || type->as<std::string>() == nullptr) {
    throw value_error(ErrorCode::missing_field, type != nullptr ? *type : table,
                      "the text doesn't name the root's class")
        .at("type")
        .hint("give it a line type = \"…\"");
  }
  try {
    return registry.config_type(*type->as<std::string>());
  } catch (const Error& error) {
    throw value_error(error.code(), *type, error.message()).at("type").hint(error.hint());
  }
}

}  // namespace

std::vector<TextLine> flatten(const AnyConfig& config) {
  std::vector<TextLine> lines;
  for (const auto& [path, value] : lines_of(config)) lines.push_back({format_path(path), value});
  return lines;
}

std::string to_string(const std::vector<TextLine>& lines) {
  std::string text;
  for (const TextLine& line : lines) text += line.path + " = " + line.value + "\n";
  return text;
}

std::string to_toml(const AnyConfig& config) { return to_string(flatten(config)); }

std::string to_string(const Difference& d) {
  return d.path + ": " + d.before.value_or("(none)") + " -> " + d.after.value_or("(none)");
}

std::unique_ptr<AnyConfig> from_toml(std::string_view text, const std::string& filename, const Registry& registry) {
  const Value table = parse_toml(text, filename).value();
  std::unique_ptr<AnyConfig> config = root_type(table, registry).make();
  apply(*config, table, ApplyMode::whole, registry);
  check_tree(*config, table);
  return config;
}

void overlay(AnyConfig& config, const Value& table, const Registry& registry) {
  change_checked(config, [&](AnyConfig& draft) { apply(draft, table, ApplyMode::overlay, registry); }, table);
}

void apply_toml(AnyConfig& config, std::string_view text, const std::string& filename, const Registry& registry) {
  overlay(config, parse_toml(text, filename).value(), registry);
}

void apply_set(AnyConfig& config, std::string_view assignment, const Registry& registry) {
  apply_set(config, std::vector<std::string>{std::string(assignment)}, registry);
}

void apply_set(AnyConfig& config, const std::vector<std::string>& assignments, const Registry& registry) {
  change_checked(config, [&](AnyConfig& draft) {
    for (const std::string& assignment : assignments) {
      if (!is_utf8(assignment)) {
        throw Error(ErrorCode::invalid_argument, "an assignment isn't valid UTF-8").got(quote_text(assignment));
      }
      const size_t equals = assignment.find('=');
      if (equals == std::string::npos || equals == 0) {
        throw Error(ErrorCode::invalid_argument, "an assignment is path=value").got(quote(assignment));
      }
      const std::string_view text = assignment;
      set(draft, text.substr(0, equals), parse_value(text.substr(equals + 1)), registry);
    }
  });
}

std::vector<Difference> diff(const AnyConfig& before, const AnyConfig& after) {
  const auto a = lines_of(before);
  const auto b = lines_of(after);
  std::vector<Difference> differences;
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const bool only_a = j == b.size() || (i < a.size() && path_less(a[i].path, b[j].path));
    const bool only_b = !only_a && (i == a.size() || path_less(b[j].path, a[i].path));
    if (only_a) {
      differences.push_back({format_path(a[i].path), a[i].value, std::nullopt});
    } else if (only_b) {
      differences.push_back({format_path(b[j].path), std::nullopt, b[j].value});
    } else if (a[i].value != b[j].value) {
      differences.push_back({format_path(a[i].path), a[i].value, b[j].value});
    }
    if (!only_b) ++i;
    if (!only_a) ++j;
  }
  return differences;
}

}  // namespace tenon
