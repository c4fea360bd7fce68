#include "tenon/config/modifier.h"

#include <fmt/format.h>

#include "tenon/base/error.h"
#include "tenon/config/apply.h"
#include "tenon/config/config_type.h"

namespace tenon {

std::string to_string(const ModifierReport& report) {
  const size_t count = report.changes.size();
  std::string text = report.modifier + ": ";
  text += count == 0 ? "all was so already" : fmt::format("{} change{}", count, count == 1 ? "" : "s");
  text += "\n";
  for (const Difference& change : report.changes) {
    text +=
        fmt::format("  {}: {} -> {}\n", change.path, change.before.value_or("(none)"), change.after.value_or("(none)"));
  }
  return text;
}

ModifierReport modify(AnyConfig& config, const Modifier& modifier) {
  if (!modifier.has_value()) throw Error(ErrorCode::missing_field, "an empty modifier");
  const std::string name(modifier.type()->name());
  const std::unique_ptr<AnyConfig> before = clone(config);
  try {
    change_checked(config, [&](AnyConfig& draft) { modifier(draft); });
  } catch (Error& error) {
    const std::string hint = error.hint().empty() ? "" : error.hint() + "; ";
    throw std::move(error).hint(hint + "it was the modifier " + name);
  }
  return {name, diff(*before, config)};
}

std::vector<ModifierReport> modify(AnyConfig& config, const std::vector<Modifier>& modifiers) {
  std::vector<ModifierReport> reports;
  for (const Modifier& modifier : modifiers) reports.push_back(modify(config, modifier));
  return reports;
}

}  // namespace tenon
