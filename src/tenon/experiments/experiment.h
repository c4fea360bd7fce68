// Experiments: named functions from a few arguments to a whole training config.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/experiments/mesh_rule.h"
#include "tenon/trainer/trainer.h"

namespace tenon {

class Registry;

// `make` is a struct whose fields are the experiment's arguments: what the config is computed from, so that one setting
// reaches all it concerns (max_steps the trainer and the schedule). tenon/experiments/resolve.h sets them by text.
struct Experiment {
  std::string name;
  std::string description;  // one line
  Fn<Trainer::Config()> make;
  // What changes with the machine; the first that matches it.
  std::vector<MeshRule> mesh_rules = {};
  // What makes this a variant of what `make` gives; before everything a user lays over it.
  std::vector<Modifier> modifiers = {};
};

class ExperimentRegistry {
 public:
  // Throws `invalid_argument` when the name is taken or isn't letters, digits, '_', '-' and '.'.
  void add(Experiment experiment);
  // Throws `unknown_name` with the nearest names.
  const Experiment& find(std::string_view name) const;
  // By name.
  std::vector<const Experiment*> all() const;

  // The one that the binary and its plug-ins fill.
  static ExperimentRegistry& global();

 private:
  std::map<std::string, Experiment, std::less<>> experiments_;
};

// The experiments that ship with Tenon.
void register_experiments(ExperimentRegistry& registry);
// Every class and function of Tenon that text can name.
void register_everything(Registry& registry);

}  // namespace tenon
