#include "tenon/experiments/mesh_rule.h"

#include <fmt/format.h>

#include "tenon/base/error.h"
#include "tenon/base/regex.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

constexpr size_t kMaxInstance = 200;

}  // namespace

void MeshRule::check(Checker& c) const {
  if (instance.is_set()) {
    const Result<Regex> regex = Regex::compile(*instance);
    if (!regex.ok()) c.require(false, "instance", regex.error().message());
  }
  for (size_t i = 0; i < modifiers.size(); ++i) {
    c.require(modifiers[i].has_value(), fmt::format("modifiers.{}", i), "must be a modifier");
  }
}

int64_t find_mesh_rule(const std::vector<MeshRule>& rules, std::string_view instance) {
  if (instance.empty()) throw Error(ErrorCode::invalid_argument, "the instance type is empty").at("--instance");
  if (instance.size() > kMaxInstance) {
    throw Error(ErrorCode::invalid_argument, "an instance type of more than 200 characters")
        .at("--instance")
        .got(quote_text(instance));
  }
  for (size_t i = 0; i < rules.size(); ++i) {
    if (Regex::compile(*rules[i].instance).value().matches(instance)) return static_cast<int64_t>(i);
  }
  return -1;
}

}  // namespace tenon
