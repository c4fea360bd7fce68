// Experiments: named functions that make a whole training config.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/trainer/trainer.h"

namespace tenon {

class Registry;

// A function from its arguments' defaults to a config. Called anew for every use.
struct Experiment {
  std::string name;
  std::string description;  // one line
  std::function<Trainer::Config()> make;
};

class ExperimentRegistry {
 public:
  // Throws `invalid_argument` when the name is taken.
  void add(Experiment experiment);
  // Throws `unknown_name` with the nearest names.
  const Experiment& find(std::string_view name) const;
  // By name.
  std::vector<const Experiment*> all() const;

 private:
  std::map<std::string, Experiment, std::less<>> experiments_;
};

// The experiments that ship with Tenon.
void register_experiments(ExperimentRegistry& registry);
// Every class of Tenon that a config can name.
void register_everything(Registry& registry);

}  // namespace tenon
