#include "tenon/experiments/resolve.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/config/access.h"
#include "tenon/config/apply.h"
#include "tenon/config/define.h"
#include "tenon/config/path.h"
#include "tenon/config/text.h"
#include "tenon/config/toml.h"
#include "tenon/config/validate.h"
#include "tenon/experiments/device_rules.h"
#include "tenon/experiments/overlay_file.h"

namespace tenon {
namespace {

constexpr std::string_view kArgs = "args", kMeshRules = "mesh_rules", kModifiers = "modifiers";

// The path of the modifier in a list of one.
constexpr std::string_view kOnly = "modifiers.0";

// What the paths "args.…" and "mesh_rules.…" lead into.
class Recipe final : public Configurable {
 public:
  struct Config : AnyConfig {
    Fn<Trainer::Config()> args;
    std::vector<MeshRule> mesh_rules;
    void check(Checker& c) const { c.require(args.has_value(), "args", "must be a function that makes a config"); }
    TENON_CONFIG(args, mesh_rules)
  };
  explicit Recipe(const Config&) {}
};
TENON_MODULE(Recipe, Configurable, "what an experiment's config comes from")

// What `modifiers = [...]` leads into.
class ModifierList final : public Configurable {
 public:
  struct Config : AnyConfig {
    std::vector<Modifier> modifiers;
    TENON_CONFIG(modifiers)
  };
  explicit ModifierList(const Config&) {}
};
TENON_MODULE(ModifierList, Configurable, "modifiers, first to last")

// What one file says, taken apart.
struct Layer {
  Value recipe, fields;
  std::vector<Modifier> modifiers;
  std::string where;  // the line of `modifiers`
};

std::vector<Modifier> modifiers_of(Value::Table table) {
  ModifierList::Config list;
  overlay(list, Value(std::move(table)));
  return list.modifiers;
}

Layer take_apart(const Value& whole) {
  Value::Table recipe, modifiers, fields;
  std::string where;
  for (const Value::Entry& entry : *whole.as<Value::Table>()) {
    if (entry.key == kModifiers) where = entry.value.where;
    const bool of_recipe = entry.key == kArgs || entry.key == kMeshRules;
    (of_recipe ? recipe : entry.key == kModifiers ? modifiers : fields).push_back(entry);
  }
  return {Value(std::move(recipe)), Value(std::move(fields)), modifiers_of(std::move(modifiers)), where};
}

std::vector<Layer> read_layers(const Experiment& experiment, const std::vector<std::string>& files) {
  std::vector<Layer> layers;
  for (const std::string& path : files) {
    const OverlayFile file = read_overlay(path);
    if (!file.experiment.empty() && file.experiment != experiment.name) {
      throw Error(ErrorCode::invalid_argument, "the file is made for another experiment")
          .at(file.where)
          .got(experiment.name)
          .expected(file.experiment);
    }
    for (const Value& table : file.tables) layers.push_back(take_apart(table));
  }
  return layers;
}

bool leads_into(std::string_view assignment, std::string_view name) {
  return assignment.starts_with(name) && assignment.substr(name.size()).find_first_of(".=") == 0;
}

// Assignments to the recipe, and others.
std::pair<std::vector<std::string>, std::vector<std::string>> split(const std::vector<std::string>& assignments) {
  std::pair<std::vector<std::string>, std::vector<std::string>> parts;
  for (const std::string& assignment : assignments) {
    if (leads_into(assignment, kModifiers)) {
      throw Error(ErrorCode::invalid_argument, "modifiers are no field of the config")
          .got(assignment)
          .hint("on a command line, --modify applies them");
    }
    const bool of_recipe = leads_into(assignment, kArgs) || leads_into(assignment, kMeshRules);
    (of_recipe ? parts.first : parts.second).push_back(assignment);
  }
  return parts;
}

Recipe::Config recipe_of(const Experiment& experiment, const std::vector<Layer>& layers,
                         const std::vector<std::string>& assignments) {
  Recipe::Config recipe;
  recipe.args = experiment.make;
  recipe.mesh_rules = experiment.mesh_rules;
  for (const Layer& layer : layers) overlay(recipe, layer.recipe);
  apply_set(recipe, assignments);
  return recipe;
}

Recipe::Config recipe_of(const Experiment& experiment, const Overrides& overrides) {
  return recipe_of(experiment, read_layers(experiment, overrides.files), split(overrides.assignments).first);
}

// Applies modifiers, and tells what they did.
class Modifying {
 public:
  explicit Modifying(Resolved& resolved) : resolved_(resolved) {}
  // `where` they were given is for errors.
  void apply(const std::vector<Modifier>& modifiers, const std::string& where) {
    try {
      for (const Modifier& modifier : modifiers) resolved_.report += to_string(modify(resolved_.config, modifier));
    } catch (Error& error) {
      throw std::move(error).hint(error.hint() + (error.hint().empty() ? "it is in " : ", in ") + where);
    }
  }
  void apply_rule(const std::vector<RuleSource>& sources, const std::string& instance, const std::string& experiment) {
    size_t count = 0;
    for (const RuleSource& source : sources) {
      count += source.rules.size();
      const int64_t index = find_mesh_rule(source.rules, instance);
      if (index < 0) continue;
      const MeshRule& rule = source.rules[static_cast<size_t>(index)];
      const std::string name = fmt::format("mesh rule {}{}{}", index, source.name.empty() ? "" : " of ", source.name);
      resolved_.report += fmt::format("{}, {}, matches {}\n", name, quote(rule.instance.value()), quote(instance));
      apply(rule.modifiers, name);
      return;
    }
    resolved_.report += fmt::format("no mesh rule matches {}: there are {}; `tenon rules list {}` shows them\n",
                                    quote(instance), count, experiment);
  }

 private:
  Resolved& resolved_;
};

// The lines of the recipe under `name`.
std::vector<TextLine> lines_under(const Recipe::Config& recipe, std::string_view name) {
  std::vector<TextLine> lines = flatten(recipe);
  std::erase_if(lines, [&](const TextLine& line) { return parse_path(line.path).front() != name; });
  return lines;
}

}  // namespace

Resolved resolve(const Experiment& experiment, const Overrides& overrides) {
  const std::vector<Layer> layers = read_layers(experiment, overrides.files);
  const auto [recipe_assignments, assignments] = split(overrides.assignments);
  const Recipe::Config recipe = recipe_of(experiment, layers, recipe_assignments);
  require_set(recipe);
  Resolved out{recipe.args(), ""};
  modify(out.config, experiment.modifiers);
  Modifying modifying(out);
  for (const Layer& layer : layers) {
    modifying.apply(layer.modifiers, layer.where);
    overlay(out.config, layer.fields);
  }
  if (overrides.instance) {
    std::vector<RuleSource> sources{{"", recipe.mesh_rules}};
    if (overrides.device) sources.push_back(device_rules(*overrides.device));
    modifying.apply_rule(sources, *overrides.instance, experiment.name);
  }
  for (const std::string& text : overrides.modifiers)
    modifying.apply({parse_modifier(text)}, "--modify " + quote(text));
  apply_set(out.config, assignments);
  return out;
}

const Experiment& find_experiment(const ExperimentRegistry& registry, const std::string& name, Overrides& overrides) {
  if (!is_overlay_file(name)) return registry.find(name);
  const OverlayFile file = read_overlay(name);
  if (file.experiment.empty()) {
    throw Error(ErrorCode::missing_field, "the file names no experiment that it is based on")
        .at(name)
        .hint("give it a line base = \"llama2_7b\"; `tenon config list` shows all");
  }
  overrides.files.insert(overrides.files.begin(), name);
  try {
    return registry.find(file.experiment);
  } catch (Error& error) {
    throw error.at(file.where);
  }
}

Modifier parse_modifier(const std::string& text, const std::string& option) {
  const size_t brace = std::min(text.find('{'), text.size());
  Value::Table table{{"type", text.substr(0, brace)}};
  if (brace != text.size()) {
    const Value fields = parse_value(text.substr(brace));
    const auto* entries = fields.as<Value::Table>();
    if (entries == nullptr || fields.find("type") != nullptr) {
      throw Error(ErrorCode::invalid_argument, "a modifier is NAME or NAME{field = value, …}")
          .at(option)
          .got(quote(text))
          .hint(why_bare(fields));
    }
    table.insert(table.end(), entries->begin(), entries->end());
  }
  try {
    ModifierList::Config list;
    const Value given(Value::Table{{std::string(kModifiers), Value(Value::List{Value(std::move(table))})}});
    apply(list, given, ApplyMode::overlay, Registry::global());
    check_value(find(list, kOnly), option);
    return list.modifiers.at(0);
  } catch (Error& error) {
    // The path leads into the list made here, of which the user knows nothing.
    if (error.path().starts_with(kOnly)) error.at(option + error.path().substr(kOnly.size()));
    const std::string where = fmt::format("it is in {} {}", option, quote(text));
    throw std::move(error).hint(error.hint() + (error.hint().empty() ? "" : "; ") + where);
  }
}

std::string arguments_to_toml(const Experiment& experiment, const Overrides& overrides) {
  const Recipe::Config recipe = recipe_of(experiment, overrides);
  std::vector<std::pair<std::string, std::string_view>> lines;  // and what each is
  size_t width = 0;
  for (const auto& [path, value] : lines_under(recipe, kArgs)) {
    const Field* field = find_field(recipe.args.type()->fields(), parse_path(path).at(1));
    lines.emplace_back(fmt::format("{} = {}", path, value), field != nullptr ? field->doc : "");
    width = std::max(width, lines.back().first.size());
  }
  std::string text;
  for (const auto& [line, doc] : lines) {
    text += doc.empty() ? line + "\n" : fmt::format("{:<{}}  # {}\n", line, width, doc);
  }
  return text;
}

std::vector<MeshRule> mesh_rules_of(const Experiment& experiment, const Overrides& overrides) {
  const Recipe::Config recipe = recipe_of(experiment, overrides);
  require_set(recipe);
  return recipe.mesh_rules;
}

std::string mesh_rules_to_toml(const Experiment& experiment, const Overrides& overrides) {
  const Recipe::Config recipe = recipe_of(experiment, overrides);
  if (recipe.mesh_rules.empty()) return "";
  std::string text;
  for (const auto& [path, value] : lines_under(recipe, kMeshRules)) text += path + " = " + value + "\n";
  return text;
}

std::vector<TextLine> mesh_rule_lines(const Experiment& experiment, const Overrides& overrides) {
  const Value rules = get(recipe_of(experiment, overrides), kMeshRules);
  std::vector<TextLine> out;
  int64_t i = 0;
  for (const Value& rule : *rules.as<Value::List>()) {
    const std::string path = fmt::format("{}.{}", kMeshRules, i++);
    out.push_back({path + ".instance", rule.find("instance")->text()});
    int64_t j = 0;
    for (const Value& modifier : *rule.find(kModifiers)->as<Value::List>()) {
      const std::string& type = *modifier.find("type")->as<std::string>();
      out.push_back({fmt::format("{}.{}.{}", path, j++, type), modifier.text()});
    }
  }
  return out;
}

}  // namespace tenon
