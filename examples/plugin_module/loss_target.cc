// A hook that ends a run at a loss.
#include "loss_target.h"

#include "tenon/config/define.h"
#include "tenon/trainer/step_hook.h"

namespace example {

class LossTarget final : public tenon::StepHook {
 public:
  struct Config : tenon::StepHook::Config {
    tenon::Required<double> loss;
    TENON_CONFIG(loss)
  };
  explicit LossTarget(const Config& config) : loss_(config.loss) {}
  void after_step(const tenon::StepInfo& info, tenon::HookRequests& requests) override {
    if (info.metrics.at("train/loss") <= loss_) requests.stop = "the loss is where it should be";
  }

 private:
  double loss_;
};

TENON_MODULE(LossTarget, tenon::StepHook, "ends a run once its loss is small enough", {"loss", "of one step"})

void register_loss_target(tenon::Registry& registry) { registry.add<LossTarget>(); }

}  // namespace example
