// The gradient of a model's loss over one global batch, traced.
#pragma once

#include <cstdint>

#include "tenon/nn/functional.h"
#include "tenon/nn/model.h"

namespace tenon {

struct Gradients {
  Nest grads;     // by parameter, f32: of sum / weight
  Tensor loss;    // f32 scalar: sum / weight; 0 for a batch without live tokens
  Tensor weight;  // f32 scalar
  Nest states;    // after the batch
  Outputs summaries;
};

// `params` are differentiated, `states` aren't. The batch is taken in `accumulation` microbatches one after another: of
// examples i, i + accumulation, i + 2 accumulation, …; states go from one to the next (those of StateSource::cotangent
// by their gradients in the one), sums are in f32. Both parts of the loss, and auxiliary losses, are sums over the
// whole batch, so gradients don't depend on how it is split. Throws `invalid_argument` when the batch doesn't divide,
// `unsupported` for several microbatches of a model that mixes examples.
Gradients gradients(const Model& model, const Nest& params, const Nest& states, const Nest& batch, const Tensor& key,
                    int64_t accumulation);

}  // namespace tenon
