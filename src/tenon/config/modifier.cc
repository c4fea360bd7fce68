#include "tenon/config/modifier.h"

#include <fmt/format.h>

#include "tenon/base/error.h"
#include "tenon/base/text.h"
#include "tenon/config/apply.h"
#include "tenon/config/define.h"
#include "tenon/config/path.h"
#include "tenon/config/validate.h"

namespace tenon {
namespace {

// Holds one modifier, to look into it.
class Holding final : public Configurable {
 public:
  struct Config : AnyConfig {
    Modifier modifier;
    TENON_CONFIG(modifier)
  };
  explicit Holding(const Config&) {}
};
TENON_MODULE(Holding, Configurable, "something with a modifier")

// Throws unless all of the modifier's own required fields and slots are set; configs in it are templates.
void require_own(const Modifier& modifier) {
  Holding::Config holding;
  holding.modifier = modifier;
  std::vector<std::string> missing;
  for (const std::string& path : missing_fields(holding)) {
    if (const Path parts = parse_path(path); parts.size() == 2) missing.push_back(parts[1]);
  }
  if (missing.empty()) return;
  throw Error(ErrorCode::missing_field, fmt::format("{} needs {}", modifier.type()->name(), join(missing, " and ")));
}

}  // namespace

std::string to_string(const ModifierReport& report) {
  const size_t count = report.changes.size();
  std::string text = report.modifier + ": ";
  text += count == 0 ? "all was so already" : fmt::format("{} change{}", count, count == 1 ? "" : "s");
  text += "\n";
  for (const Difference& change : report.changes) text += "  " + to_string(change) + "\n";
  return text;
}

ModifierReport modify(AnyConfig& config, const Modifier& modifier) {
  if (!modifier.has_value()) throw Error(ErrorCode::missing_field, "an empty modifier");
  require_own(modifier);
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
