// What is known of a candidate before it's compiled.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/tune/cost.h"

namespace tenon {

// From the traced program and the config alone.
struct Analysis {
  std::string program;  // sha256 of its text; with the mesh where that has an outer part
  int64_t least_bytes =
      0;                  // on one device: the arguments, and the inputs of layers, which are kept whatever the policy
  double at_least_s = 0;  // of products, and of reading the arguments once
  double guess_s = 0;     // at_least_s and what the mesh must move: the order in which candidates are tried
};
// `traced` is a report of the program, not compiled. Of models but decoders of tokens, layers count nothing. A device
// gathers its parameters over `fsdp` twice for each microbatch and scatters their gradients, sums gradients over `data`
// and `expert` once a step, and the residual stream over `model` four times a layer; it hands the stream on along
// `pipeline`, there and back. Where a pipeline waits it computes, and sends, as if for another microbatch.
Analysis analyze(const StepReport& traced, const Trainer::Config& config, const AotTarget& target,
                 const MachineSpeeds& speeds);

}  // namespace tenon
