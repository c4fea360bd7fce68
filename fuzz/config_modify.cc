// Input: a list of modifiers, as a file holds them: `modifiers = [{type = "SetField", path = "**.bias", value =
// true}]`.
#include <vector>

#include "fuzz.h"
#include "tenon/base/error.h"
#include "tenon/config/define.h"
#include "tenon/config/modifiers.h"
#include "tenon/config/test_types.h"

namespace tenon {
namespace {

class List final : public Configurable {
 public:
  struct Config : AnyConfig {
    std::vector<Modifier> modifiers;
    TENON_CONFIG(modifiers)
  };
  explicit List(const Config&) {}
};
TENON_MODULE(List, Configurable, "modifiers")

const Registry& registry() {
  zoo::register_zoo(Registry::global());
  register_modifiers(Registry::global());
  return Registry::global();
}

}  // namespace
}  // namespace tenon

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  if (size > 500) return 0;  // each Wrap may double the tree
  static const Registry& types = registry();
  zoo::Model::Config config;
  config.layers = {zoo::GatedFeedForward::Config{}, zoo::Experts::Config{}};
  std::string before = to_toml(config);
  try {
    List::Config list;
    apply_toml(list, fuzz::as_text(data, size), "input.toml", types);
    for (const Modifier& modifier : list.modifiers) {
      modify(config, modifier);
      before = to_toml(config);
    }
  } catch (const Error& error) {
    fuzz::must(error.code() != ErrorCode::internal, "no input is our bug");
    fuzz::must(to_toml(config) == before, "an error changes nothing");
  }
  return 0;
}
