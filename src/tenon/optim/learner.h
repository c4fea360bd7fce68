// The learner: from gradients to the next parameters.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tenon/base/regex.h"
#include "tenon/optim/ema.h"
#include "tenon/optim/norm_spikes.h"
#include "tenon/optim/offload.h"
#include "tenon/optim/optimizer.h"
#include "tenon/optim/schedule.h"

namespace tenon {

// Clips the gradient by its global norm and gives it to the optimizer. A step whose loss or gradient norm isn't finite
// is skipped, and where `skip_spikes` is set one whose norm stands out: parameters and optimizer state keep their bits,
// and counters go up. Learning rate, clip threshold and decay are run-time inputs.
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
    std::optional<NormSpikes> skip_spikes;
    // Keeps running means of the parameters that are trained.
    std::optional<Ema> ema;
    // Keeps what the optimizer keeps in host memory.
    std::optional<OptimizerOffload> offload;
    // The dtype of what is kept for parameters, by a regular expression looked for in its name ("m.<parameter>"):
    // {"^m\\." = "bf16"}. What none matches is f32. Rules compute in f32 whatever they keep.
    std::map<std::string, DType> state_dtypes;
    void check(Checker& c) const;
    TENON_CONFIG(optimizer, learning_rate, clip_global_norm, max_skipped_steps, skip_spikes, ema, offload, state_dtypes)
  };
  // Throws `unsupported` for a dtype that can't be kept, `invalid_argument` for what isn't a regular expression.
  explicit Learner(const Config& config);

  // The counter of skipped steps: what `update` counts as the optimizer's updates is the step less this. An optimizer
  // that starts anew at a later step begins with that step in it.
  static constexpr const char* kSkipped = "skipped";
  // The numbers `update` gets at `step` (from 0): "learning_rate", "clip_global_norm", "ema_decay" where means are
  // kept, and those of the optimizer and of NormSpikes.
  StepScalars scalars(int64_t step) const;
  // Throws when the optimizer doesn't fit these parameters, or the offload matches none of its arrays, at a path of its
  // config; `invalid_argument` when a pattern of state_dtypes fits nothing, or two fit one array; `unsupported` when
  // one fits an array that is offloaded.
  void check_parameters(const std::vector<ParamInfo>& params) const;
  // What the learner keeps for these parameters (those not trainable are passed over): the optimizer's arrays, named
  // "<name>.<path>" ("m.decoder.emb.weight"), and "skipped" and "skipped_in_a_row", f32 scalars; where
  // they are set, the means "ema.<path>" with "ema_updates", and what NormSpikes keeps.
  std::vector<ParamInfo> describe(const std::vector<ParamInfo>& params) const;
  // The optimizer's arrays of single layers ("m.decoder.layers.3.norm.scale"), and whether an array of that name would
  // mean the same to `other`: whether that has the parameter with an optimizer of the same class.
  std::map<std::string, bool> compare_rules(const std::vector<ParamInfo>& params, const Learner& other) const;
  // Of those, the names of the arrays that lie in host memory between steps.
  std::set<std::string> offloaded(const std::vector<ParamInfo>& params) const;
  // Traced: the values at the start, by those names.
  Nest init(const std::vector<ParamInfo>& params, const Nest& values) const;

  struct Update {
    Nest values, state;
    Tensor applied;           // i1 scalar: whether the step was not skipped
    Tensor grad_norm;         // f32 scalar: before clipping
    Tensor skipped;           // f32 scalar: steps skipped so far
    Tensor skipped_in_a_row;  // f32 scalar
  };
  // Traced: one step. `values` and `grads` hold the trainable parameters by path, as stored but gradients in f32;
  // `loss` is an f32 scalar, `step` an i32 scalar counted from 0, `scalars` f32 scalars.
  Update update(const std::vector<ParamInfo>& params, const Nest& values, const Nest& grads, const Nest& state,
                const Tensor& loss, const Tensor& step, const Nest& scalars) const;

  int64_t max_skipped_steps() const { return config_.max_skipped_steps; }
  // Whether evaluations use the means "ema.<path>".
  bool evaluates_ema() const { return config_.ema && config_.ema->evaluate; }

 private:
  // Of what the optimizer keeps for a parameter, what lies in host memory, by the optimizer's names.
  std::set<std::string> on_host(const ParamInfo& param) const;
  // Whether a running mean of it is kept: of what is trained and changes.
  bool keeps_mean(const ParamInfo& param) const { return config_.ema && optimizer_->updates(param); }
  // The optimizer's next value and state: as they were where the step isn't applied.
  std::pair<Tensor, Nest> run_optimizer(const OptimizerArgs& args) const;
  // The index of the pattern of state_dtypes that has an array of the state, if one does.
  std::optional<size_t> dtype_rule(const std::string& name) const;
  // What is kept for parameters, in f32: the optimizer's arrays, and means.
  std::vector<ParamInfo> parameter_arrays(const std::vector<ParamInfo>& params) const;
  // That every pattern has arrays of its own, which stay on the device.
  void check_dtype_rules(const std::vector<ParamInfo>& params) const;
  // One parameter's next value and arrays, the same way, in f32.
  std::pair<Tensor, Nest> update_one(const OptimizerArgs& args, const Nest& state) const;

  struct DTypeRule {
    std::string text;
    Regex pattern;
    DType dtype;
  };
  Config config_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<Regex> offloaded_;
  std::vector<DTypeRule> dtype_rules_;
};

// sqrt of the sum of all squares, f32 scalar.
Tensor global_norm(const Nest& tensors);

}  // namespace tenon
