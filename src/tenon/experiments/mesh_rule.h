// Mesh rules: what an experiment changes for the machines it runs on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/config/config.h"
#include "tenon/config/modifier.h"

namespace tenon {

struct MeshRule {
  // A regular expression (ECMAScript) for the whole of an instance type: "tpu-v5p-(512|1024)", "gpu-h100-.*", "cpu-.*".
  Required<std::string> instance;
  std::vector<Modifier> modifiers = {};
  void check(Checker& c) const;
  TENON_FIELDS(instance, modifiers)
};

// The index of the first rule that matches; -1 when none does. Throws `invalid_argument` for an instance type that is
// empty or of more than 200 characters.
int64_t find_mesh_rule(const std::vector<MeshRule>& rules, std::string_view instance);

}  // namespace tenon
