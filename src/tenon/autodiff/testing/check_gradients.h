// For tests: gradients against central differences, in the reference interpreter.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "tenon/base/literal.h"
#include "tenon/ir/trace.h"

namespace tenon {

// A scalar from tensors.
using LossFn = std::function<Tensor(const std::vector<Tensor>&)>;

// f64, normally distributed.
Literal random_literal(std::mt19937& rng, const Dims& dims);

// The program args -> {loss, gradient by each argument (floats only)}.
Graph gradient_graph(const LossFn& loss, const std::vector<Literal>& args);

// Where gradients and central differences of the interpreted loss part by more than 1e-6, in words; "" when nowhere.
// Looks at every element of every float argument, and at the loss the gradient program returns.
std::string check_gradients(const LossFn& loss, std::vector<Literal> args);

// Ops called `name` in a region and the regions inside it.
int64_t count_ops(const Trace& trace, RegionId region, std::string_view name);

}  // namespace tenon
