// One batch through the reference interpreter, with every value of a module shown.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/shape.h"
#include "tenon/trainer/trainer.h"

namespace tenon {

// A value of the forward pass.
struct InspectedValue {
  std::string path;  // module path, with the numbers of layers; "model" for the model itself
  std::string op;    // "dot_general"; of several results "sort.1"
  TensorType type;
  // Of the finite elements.
  double min = 0, max = 0, mean = 0, std = 0;
  int64_t num_non_finite = 0;
  std::vector<double> first;  // the first few elements
};

struct InspectedLoss {
  double loss = 0, weight = 0;
  std::string unit;  // what the weight counts: Model::unit
};

// Runs the forward pass of step 1 (initial parameters, first batch, the step's draws) and gives every value that an op
// at `at` makes to `see`, in order of execution. `at` is the path of a module, which stands for all below it too, or a
// regular expression that is searched for in "path/op". Needs no plugin; slow, so for small batches. Throws
// `unknown_name` with the nearest paths when nothing matches, `invalid_argument` for a wrong expression.
InspectedLoss inspect_forward(const Trainer::Config& config, std::string_view at,
                              const std::function<void(const InspectedValue&)>& see);

// "decoder.norm/mul  f32[8,32]  min -1.5  max 2  mean 0.01  std 0.5  0 not finite  first 0.1, -0.2".
std::string format_value(const InspectedValue& value);

}  // namespace tenon
