// The learner: from gradients to the next parameters.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tenon/optim/optimizer.h"
#include "tenon/optim/schedule.h"

namespace tenon {

// Clips the gradient by its global norm and gives it to the optimizer. A step whose loss or gradient norm isn't finite
// is skipped: parameters and optimizer state keep their bits, and counters go up. Learning rate, clip threshold and
// decay are run-time inputs.
class Learner final : public Configurable {
 public:
  struct Config : AnyConfig {
    Config();
    Slot<Optimizer> optimizer;
    Schedule learning_rate = 3e-4;
    // The norm of all gradients together, of parameters that the optimizer updates, is at most this; infinity: any.
    double clip_global_norm = 1;
    // So many skipped steps in a row end the run.
    int64_t max_skipped_steps = 10;
    void check(Checker& c) const;
    TENON_CONFIG(optimizer, learning_rate, clip_global_norm, max_skipped_steps)
  };
  explicit Learner(const Config& config);

  // The numbers `update` gets at `step` (from 0): "learning_rate", "clip_global_norm" and the optimizer's.
  StepScalars scalars(int64_t step) const;
  // Throws when the optimizer doesn't fit these parameters, at a path of its config.
  void check_parameters(const std::vector<ParamInfo>& params) const;
  // What the learner keeps for these parameters (those not trainable are passed over): the optimizer's arrays, named
  // "<name>.<path>" ("m.decoder.emb.weight"), and "skipped" and "skipped_in_a_row", f32 scalars.
  std::vector<ParamInfo> describe(const std::vector<ParamInfo>& params) const;
  // Traced: the values at the start, by those names.
  Nest init(const std::vector<ParamInfo>& params, const Nest& values) const;

  struct Update {
    Nest values, state;
    Tensor applied;           // i1 scalar: whether the step was not skipped
    Tensor grad_norm;         // f32 scalar: before clipping
    Tensor skipped;           // f32 scalar: steps skipped so far
    Tensor skipped_in_a_row;  // f32 scalar
  };
  // Traced: one step. `values` and `grads` hold the trainable parameters by path, f32 and as stored; `loss` is an f32
  // scalar, `step` an i32 scalar counted from 0, `scalars` f32 scalars.
  Update update(const std::vector<ParamInfo>& params, const Nest& values, const Nest& grads, const Nest& state,
                const Tensor& loss, const Tensor& step, const Nest& scalars) const;

  int64_t max_skipped_steps() const { return config_.max_skipped_steps; }

 private:
  Config config_;
  std::unique_ptr<Optimizer> optimizer_;
};

// sqrt of the sum of all squares, f32 scalar.
Tensor global_norm(const Nest& tensors);

}  // namespace tenon
