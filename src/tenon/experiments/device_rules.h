// Mesh rules that come with a device's description, for every experiment.
#pragma once

#include <string>
#include <vector>

#include "tenon/experiments/mesh_rule.h"
#include "tenon/runtime/chips.h"

namespace tenon {

// Mesh rules from one place.
struct RuleSource {
  std::string name;  // for reports: "device trn2"; "" for the experiment
  std::vector<MeshRule> rules;
};

// Those that `chip`'s description has. Throws, with the file and line, what reading rules throws: `unknown_name` with
// the nearest names for a modifier or field that isn't there, `wrong_type`, `missing_field`, `invalid_argument`.
RuleSource device_rules(const Chip& chip);

}  // namespace tenon
