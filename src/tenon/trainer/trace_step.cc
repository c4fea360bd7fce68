#include "tenon/trainer/trace_step.h"

#include <algorithm>

#include "tenon/config/build_part.h"
#include "tenon/config/tree.h"
#include "tenon/config/validate.h"
#include "tenon/nn/experts/dispatch.h"

namespace tenon {
namespace {

// Experts take their even share of the tokens, and nothing else.
class WithoutPadding final : public TreeVisitor {
 public:
  bool enter(const Path&, AnyConfig& config) override {
    if (auto* capacity = dynamic_cast<CapacityDispatch::Config*>(&config)) {
      capacity->capacity_factor = std::min(capacity->capacity_factor, 1.0);
    }
    if (auto* dropless = dynamic_cast<DroplessDispatch::Config*>(&config)) dropless->block_size = 1;
    return true;
  }
};

}  // namespace

StepSettings step_settings(const Trainer::Config& config, int64_t num_devices, const KernelList& kernels) {
  return {config.mesh.resolve(num_devices),
          config.data->batch_types(),
          config.accumulation,
          config.optimizer_axes,
          config.kernels.allowed(kernels),
          config.summarize.layer_norms,
          {},
          config.xla_flags};
}

TracedStep trace_train_step(const Trainer::Config& config, int64_t num_devices, const KernelList& kernels,
                            PassObserver observe) {
  validate(config);
  const std::unique_ptr<Model> model = build_part("model", config.model);
  const std::unique_ptr<Learner> learner = build_part("learner", config.learner);
  StepSettings settings = step_settings(config, num_devices, kernels);
  settings.pass_observer = std::move(observe);
  return {settings.mesh, make_train_program(*model, *learner, settings)};
}

FlopCount count_forward_flops(const Trainer::Config& config, int64_t num_devices) {
  validate(config);
  Slot<Model> slot = config.model;
  WithoutPadding without_padding;
  walk(slot.mutable_get(), without_padding);
  const std::unique_ptr<Model> model = build_part("model", slot);
  return count_traced_forward_flops(*model, step_settings(config, num_devices, {}));
}

}  // namespace tenon
