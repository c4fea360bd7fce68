#include "tenon/experiments/device_rules.h"

#include "tenon/config/define.h"
#include "tenon/config/text.h"
#include "tenon/config/validate.h"

namespace tenon {
namespace {

constexpr const char* kMeshRules = "mesh_rules";

// What `mesh_rules = [...]` leads into.
class DeviceRules final : public Configurable {
 public:
  struct Config : AnyConfig {
    std::vector<MeshRule> mesh_rules;
    TENON_CONFIG(mesh_rules)
  };
  explicit DeviceRules(const Config&) {}
};
TENON_MODULE(DeviceRules, Configurable, "what changes with the type of machine")

}  // namespace

RuleSource device_rules(const Chip& chip) {
  DeviceRules::Config config;
  if (chip.setup.has_mesh_rules()) {
    overlay(config, Value(Value::Table{{kMeshRules, chip.setup.mesh_rules}}));
    try {
      require_set(config);
    } catch (Error& e) {
      throw std::move(e).hint("it is in " + chip.setup.mesh_rules.where);
    }
  }
  return {"device " + chip.name, std::move(config.mesh_rules)};
}

}  // namespace tenon
