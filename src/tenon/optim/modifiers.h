// Modifiers of learners.
#pragma once

#include <string>

#include "tenon/config/config.h"
#include "tenon/config/modifier.h"

namespace tenon {

// Trains no parameter whose path contains a match of `parameters`: the learner's optimizer gets a first rule for them.
struct Freeze {
  Required<std::string> parameters;  // regular expression (ECMAScript), as an OptimizerRule's path
  TENON_FN(parameters)
  void operator()(AnyConfig& tree) const;
};

}  // namespace tenon
