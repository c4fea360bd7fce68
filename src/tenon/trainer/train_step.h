// The programs of a run, ready to compile: init, train step, eval step.
//
// The train step is two graph functions composed into one program: gradients (gradients.h) and the learner's update.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tenon/checkpoint/state_io.h"
#include "tenon/data/dataset.h"
#include "tenon/ir/flops.h"
#include "tenon/nn/model.h"
#include "tenon/optim/learner.h"
#include "tenon/runtime/jit.h"

namespace tenon {

// "num_tokens": what a run calls the weight of the model's loss.
std::string weight_metric(const Model& model);
// The first dimension of every array of a batch is split over all axes that hold different examples.
PartitionSpec batch_partition();

// A run's state: the model's parameters and states, then what the learner keeps, under "learner.".
struct StateLayout {
  std::vector<ParamInfo> model, learner;
  // The model's as the learner sees them: those that are trained may be split over more axes (optimizer_axes).
  std::vector<ParamInfo> updated;
  std::vector<StateArray> arrays;  // the model's, then the learner's
};
// `optimizer_axes` as in StepSettings, for arrays that lie on `mesh`.
StateLayout layout_state(const Model& model, const Learner& learner, const Mesh& mesh = {},
                         const std::vector<std::string>& optimizer_axes = {});

struct StepSettings {
  Mesh mesh;
  BatchTypes batch;
  // Microbatches in one step.
  int64_t accumulation = 1;
  // Mesh axes that what the learner keeps for a parameter is split over, besides those of the parameter: along its
  // largest dimension that divides. Gradients are summed into such pieces, updated there, and gathered as parameters.
  std::vector<std::string> optimizer_axes;
  // Own kernels that the programs may call.
  KernelList kernels;
  // Adds the metrics "param_norm/<path>" and "grad_norm/<path>" of every parameter, layer by layer of a stack: of its
  // value before the step, and of its gradient before clipping.
  bool layer_norms = false;
  // Sees the graph of the train step on its way through the passes; may be empty.
  PassObserver pass_observer;
  // Of the programs' compilation.
  std::map<std::string, std::string> xla_flags = {};
};

// (seed u32[2]) -> every array of the layout, padded.
Program make_init_program(const Model& model, const Learner& learner, const Mesh& mesh,
                          const std::vector<std::string>& optimizer_axes = {});

// (state…, seed u32[2], step i32, scalars f32[S], batch…) -> (state…, metrics f32[M]). The state is donated.
struct TrainProgram {
  Program program;
  StateLayout layout;
  std::vector<std::string> scalar_names;  // what each element of `scalars` is: Learner::scalars
  std::vector<std::string>
      metric_names;  // "loss", "grad_norm", weight_metric, "skipped", "skipped_in_a_row", summaries
  FlopCount flops;
};
// Throws what tracing throws, with the module's path, and `mesh_mismatch` when the batch doesn't divide over the mesh.
TrainProgram make_train_program(const Model& model, const Learner& learner, const StepSettings& settings);

// The train step's graph with two results, the loss and the gradient norm (f32 scalars), and without what they don't
// need; and how to compile it. It takes the train step's arguments and donates none. Traced anew, its values have the
// same ids. Throws as make_train_program does.
struct TracedLoss {
  Graph graph;
  ProgramSpec spec;
};
TracedLoss trace_loss(const Model& model, const Learner& learner, const StepSettings& settings);

// (the model's part of the state…, batch…) -> f32[2 + 2 M]: sum and weight of the loss; then for each of M weighted
// means (summaries merged as Merge::weighted_mean) its value times its weight, and its weight.
struct EvalProgram {
  Program program;
  std::vector<std::string> metric_names;
};
EvalProgram make_eval_program(const Model& model, const StepSettings& settings);

// Of one forward pass as training traces it over a batch, over all devices; what experts are filled up with counts.
FlopCount count_traced_forward_flops(const Model& model, const StepSettings& settings);

// The two words of a seed, high first, as the programs take it.
Literal seed_words(int64_t seed);

}  // namespace tenon
