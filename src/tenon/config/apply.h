// Writing a table of values, as a TOML file or `--set` gives it, onto a config tree.
#pragma once

#include <cstdint>
#include <functional>

#include "tenon/config/any_config.h"
#include "tenon/config/registry.h"
#include "tenon/config/value.h"

namespace tenon {

enum class ApplyMode : uint8_t {
  // Changes what the table names and keeps the rest. `.type` replaces what is in a slot as `replace` does (modify.h);
  // numbered keys change or append list elements, an array replaces the list.
  overlay,
  // The table is the whole: lists and maps it names are emptied first, `.type` starts from defaults, and required
  // fields it doesn't name are unset.
  whole,
};

// Runs no checks. On an error the tree may be changed in part: apply to a copy. Errors carry the path, and where the
// value was written.
void apply(AnyConfig& config, const Value& table, ApplyMode mode, const Registry& registry);

// Makes the change on a copy, runs all checks of the tree, and only then takes it over: on an error it is unchanged.
// `source`: what the change sets, for the errors of these checks.
void change_checked(AnyConfig& config, const std::function<void(AnyConfig&)>& change, const Value& source = {});

}  // namespace tenon
