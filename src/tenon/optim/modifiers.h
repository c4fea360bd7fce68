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

// Keeps what the optimizer keeps in host memory: those arrays in whose names `arrays` (a regular expression) finds
// something.
struct OffloadOptimizerState {
  std::string arrays = ".*";
  void check(Checker& c) const;
  TENON_FN(arrays)
  void operator()(AnyConfig& tree) const;
};

// Puts low-rank adapters (LoRA) over the products of linear layers, and trains them alone: the learner's optimizer has
// them, of several by path the one for the rest; everything else is Frozen. Where adapters are trained already, the
// optimizer stays. Throws `invalid_argument` when the optimizer for the rest is Frozen.
struct AddLoRA {
  int64_t rank = 8;
  double alpha = 16;
  double dropout = 0;
  std::string within = "**";  // only at paths that match this, and below
  void check(Checker& c) const;
  TENON_FN(rank, alpha, dropout, within)
  void operator()(AnyConfig& tree) const;
};

}  // namespace tenon
