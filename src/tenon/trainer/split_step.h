// The train step in two programs, between which gradients may be reduced over more than one mesh holds.
#pragma once

#include <string>
#include <vector>

#include "tenon/trainer/train_step.h"

namespace tenon {

// (the model's part of the state…, seed u32[2], step i32, batch…) -> (gradients…, states…, metrics f32[M]): of every
// parameter that is trained its gradient (f32, of the mean loss over the batch, split as the learner splits it), then
// of the model's other arrays what they are after the batch, both in the order of the layout. Nothing is donated.
struct GradientProgram {
  Program program;
  StateLayout layout;
  std::vector<std::string> metric_names;  // "loss", weight_metric, summaries
};
// Throws as make_train_program does.
GradientProgram make_gradient_program(const Model& model, const Learner& learner, const StepSettings& settings);

// (state…, gradients…, states…, loss f32, step i32, scalars f32[S]) -> (state…, metrics f32[3]): the learner's update
// by gradients and states as a GradientProgram gives them, or as they were made of those of several. The state is
// donated. One after the other, the two do what the program of make_train_program does.
struct ApplyProgram {
  Program program;
  StateLayout layout;
  std::vector<std::string> scalar_names;  // Learner::scalars
  std::vector<std::string> metric_names;  // "grad_norm", "skipped", "skipped_in_a_row"
};
ApplyProgram make_apply_program(const Model& model, const Learner& learner, const StepSettings& settings);

}  // namespace tenon
