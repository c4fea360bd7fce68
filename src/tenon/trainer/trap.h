// Finding what made a step's loss or gradients non-finite.
//
// The step runs again as a program that measures every float inside it, on the same devices, so it works at the size of
// the run: one number a value says which value went non-finite first, a second program gives the ranges around it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/runtime/array.h"
#include "tenon/runtime/compile_cache.h"
#include "tenon/trainer/train_step.h"

namespace tenon {

// A value next to the fault.
struct ValueRange {
  // "decoder.layers.3.attention/dot_general", the name of a parameter, or what a loop hands in.
  std::string source;
  TensorType type;
  // Of the finite elements; of floats only, the others have the counts 0 and min > max.
  double min = 0, max = 0;
  double num_infinite = 0, num_nan = 0;
};

struct NonFiniteReport {
  // "the loss" or "the gradient norm".
  std::string target;
  // Module path with the number of the layer, and the op; empty op: `value` is a parameter of the step, non-finite
  // before it.
  std::string path, op;
  // "round 2 of 4 of a loop at decoder", for loops that aren't stacks of layers.
  std::vector<std::string> loops;
  ValueRange value;
  std::vector<ValueRange> inputs;
};

// Where a step with these arguments, those of the train step, goes non-finite: the loss or, where that is finite, a
// gradient. An op without a path says "model". Throws `non_finite` when the loss and gradients are finite this time.
NonFiniteReport trap_non_finite(const Model& model, const Learner& learner, const StepSettings& settings,
                                const std::shared_ptr<const Backend>& backend, const std::vector<Array>& args,
                                const CompileCache* cache = nullptr);

// "f32[8,4], finite ones from -1.5 to 3, 2 infinite, 0 NaN".
std::string to_string(const ValueRange& range);
// Lines for people, without one at the end.
std::string format_report(const NonFiniteReport& report);

// The path with each "first::period" replaced by the number of the layer; `loops` are the paths of the scans around it
// and their rounds, outermost first. Those used are taken out.
std::string layer_path(std::string_view path, std::vector<std::pair<std::string, int64_t>>& loops);

}  // namespace tenon
