// Rematerialization: which values of the forward pass are kept for the backward one, and which are computed again.
#pragma once

#include <string>
#include <vector>

#include "tenon/config/config.h"
#include "tenon/ir/trace.h"

namespace tenon {

// A policy is a function that is a value: from what made a value to what happens with it.
using RematPolicy = Fn<Save(const RematQuery&)>;

TENON_ENUM(Save, automatic, recompute, device, host)

// Keeps every value the backward pass reads.
struct SaveEverything {
  TENON_FN()
  Save operator()(const RematQuery& query) const;
};
// Keeps only the inputs of the scope.
struct SaveNothing {
  TENON_FN()
  Save operator()(const RematQuery& query) const;
};
// Keeps the results of contractions and computes the rest again.
struct SaveDots {
  TENON_FN()
  Save operator()(const RematQuery& query) const;
};
// Keeps values with these tags (as in SaveRule) on the device, or in host memory, and computes the rest again.
struct SaveTags {
  std::vector<std::string> device = {}, host = {};
  void check(Checker& c) const;  // each tag stands once
  TENON_FN(device, host)
  Save operator()(const RematQuery& query) const;
};

// One line of a SaveRules. What is empty matches everything.
struct SaveRule {
  // A module path and all below it; * stands for any text: "decoder.layers.*.attention".
  std::string path = {};
  std::string tag = {};  // a regular expression (ECMAScript) for all of a tag: ".*_proj"
  std::string op = {};
  Save save = Save::device;
  TENON_FIELDS(path, tag, op, save)
};
// The first rule that matches decides; for what none matches, `otherwise` (automatic: the cheapest choice).
struct SaveRules {
  std::vector<SaveRule> rules = {};
  Save otherwise = Save::recompute;
  void check(Checker& c) const;  // no two rules match the same
  TENON_FN(rules, otherwise)
  Save operator()(const RematQuery& query) const;
};

class Registry;
void register_autodiff(Registry& registry);

// Throws `invalid_argument` when a policy of the scopes from `first_scope` on names a tag, a path or an op that none of
// the ops from `first_op` on has in such a scope, with the names there are.
void check_remat_policies(const Trace& trace, uint32_t first_scope, size_t first_op);

// Marks the ops traced while it lives; an inner scope wins. An empty policy marks nothing.
class [[nodiscard]] RematScope {
 public:
  explicit RematScope(const RematPolicy& policy);
  ~RematScope();
  RematScope(const RematScope&) = delete;

 private:
  uint32_t previous_ = kNoId;
  bool active_ = false;
};

}  // namespace tenon
