// Rematerialization: which values of the forward pass are kept for the backward one, and which are computed again.
#pragma once

#include <string>
#include <vector>

#include "tenon/config/config.h"
#include "tenon/ir/trace.h"

namespace tenon {

// A policy is a function that is a value: from what made a value to what happens with it.
using RematPolicy = Fn<Save(const RematQuery&)>;

TENON_ENUM(Save, unspecified, recompute, device, host)

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
// Keeps values with these tags on the device, or in host memory, and computes the rest again.
struct SaveTags {
  std::vector<std::string> device = {}, host = {};
  TENON_FN(device, host)
  Save operator()(const RematQuery& query) const;
};

class Registry;
void register_autodiff(Registry& registry);

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
