// Training over the mesh axis `pipeline` with few microbatches on their way: one forward, one backward (Narayanan et
// al. 2021, "Memory-efficient pipeline-parallel DNN training"; Narayanan et al. 2021, section 2.2.1).
//
// With n stages and M microbatches: at first microbatches only come in, n - 1 ticks; then for M ticks every device lets
// one pass its layers and computes the gradient of another, the last device that whose loss was just taken; then
// gradients only go out, n - 1 ticks. For a microbatch's gradient the layers of a stage are computed again from what
// they were given, and nothing else is kept of it: 2 n - 1 of these at most, whatever M is. Devices wait for (n - 1) /
// (M + n - 1) of the time, as with gpipe.
//
// Gradients come with the loss, as sums over microbatches. They are what the loss is differentiated with.
#pragma once

#include <functional>
#include <vector>

#include "tenon/nn/transformer/pipeline.h"

namespace tenon {

// A model, for microbatch number `index` (i32). The parts may use what is outside; what they collect isn't
// differentiated. The layers are code of one device along the axis, the ends are left to the partitioner as any code
// is.
struct PipelineParts {
  // What the first layer is given. No loss.
  std::function<StageOutput(const Tensor& index)> begin;
  // Its loss is that of the layers themselves.
  StageFn stage;
  // The loss of what the last layer gave: there always is one. No carry.
  std::function<StageOutput(const Tensor& index, const std::vector<Tensor>& carry)> end;
};

struct PipelineLoss {
  Tensor loss;                     // the sum over microbatches
  std::vector<Tensor> begin, end;  // collected, by microbatch: [M, …]
  std::vector<Tensor> stage;       // by microbatch and layer: [M, L, …]
};
// All L layers, their arrays being [L,…] each. The loss is differentiated by these and by all floats that the parts use
// from outside; once: a second derivative throws `not_differentiable`. Throws `mesh_mismatch` when layers don't divide,
// `unsupported` inside a manual region.
PipelineLoss run_one_f_one_b(const Mesh& mesh, const PipelineConfig& config, int64_t num_layers,
                             const std::vector<Tensor>& arrays, const PipelineParts& parts);

}  // namespace tenon
