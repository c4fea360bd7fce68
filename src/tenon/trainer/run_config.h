// Parts of a Trainer::Config.
#pragma once

#include <string>

#include "tenon/checkpoint/state_io.h"
#include "tenon/config/config.h"

namespace tenon {

// What a new run takes from a checkpoint in place of its initial values; a run that resumes doesn't look at it.
struct InitFrom {
  // A checkpoint, or the directory of a run: its newest good one. Empty: nothing.
  std::string checkpoint;
  // Which tensors: a regular expression that matches their whole names in files. Empty: all of the model.
  std::string tensors;
  // The module that they go to, by its path: "teacher"; names in files are those below it. Empty: the model.
  std::string into;
  // Whether the checkpoint must have exactly these among its tensors that match, or may have more.
  TreeCheck match = TreeCheck::exact;
  void check(Checker& c) const;
  TENON_FIELDS(checkpoint, tensors, into, match)
  bool operator==(const InitFrom&) const = default;
};

// Summaries that cost something.
struct SummarizeConfig {
  // The norm of each parameter and of its gradient, layer by layer, with every log line: read in every step.
  bool layer_norms = false;
  // How the parameters are spread, with every checkpoint.
  bool histograms = false;
  TENON_FIELDS(layer_norms, histograms)
  bool operator==(const SummarizeConfig&) const = default;
};

}  // namespace tenon
