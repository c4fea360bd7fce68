#include "tenon/experiments/mesh_rule.h"

#include <fmt/format.h>

#include <optional>
#include <regex>

#include "tenon/base/error.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

// A library's matching recurses once a character.
constexpr size_t kMaxInstance = 200;

std::optional<std::regex> compile(const std::string& pattern) {
  try {
    return std::regex(pattern, std::regex::ECMAScript);
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

}  // namespace

void MeshRule::check(Checker& c) const {
  if (instance.is_set()) {
    c.require(compile(instance).has_value(), "instance", "must be a regular expression (ECMAScript)");
  }
  for (size_t i = 0; i < modifiers.size(); ++i) {
    c.require(modifiers[i].has_value(), fmt::format("modifiers.{}", i), "must be a modifier");
  }
}

int64_t find_mesh_rule(const std::vector<MeshRule>& rules, std::string_view instance) {
  if (instance.size() > kMaxInstance) {
    throw Error(ErrorCode::invalid_argument, "an instance type of more than 200 characters").got(quote_text(instance));
  }
  for (size_t i = 0; i < rules.size(); ++i) {
    const auto regex = compile(rules[i].instance);
    if (regex && std::regex_match(instance.begin(), instance.end(), *regex)) return static_cast<int64_t>(i);
  }
  return -1;
}

}  // namespace tenon
