// A feed-forward with squared ReLU (So et al. 2021), a modifier that brings it to any experiment, and an experiment.
#include "loss_target.h"
#include "tenon/base/plugin_library.h"
#include "tenon/config/define.h"
#include "tenon/config/modify.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/austen.h"
#include "tenon/experiments/experiment.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/basic/feed_forward.h"

namespace example {

using tenon::Tensor;

auto dims(int64_t in, int64_t out) {
  return [=](tenon::Linear::Config& l) {
    l.input_dim = in;
    l.output_dim = out;
  };
}

// down(relu(up(x))^power). `hidden_dim` has the name and type it has in GatedFeedForward: taking its place, it keeps
// what was set there.
class SquaredReluFeedForward final : public tenon::FeedForward {
 public:
  struct Config : tenon::FeedForward::Config {
    tenon::Fn<int64_t(int64_t)> hidden_dim = tenon::ScaledDim{.scale = 4, .round_up_to = 64};
    double power = 2;
    tenon::Slot<tenon::Linear> linear;
    Config() : linear(tenon::Linear::Config{}) {}
    void check(tenon::Checker& c) const { c.at_least("power", power, 1); }
    TENON_CONFIG(hidden_dim, power, linear)
  };
  explicit SquaredReluFeedForward(const Config& c)
      : tenon::FeedForward(c),
        power_(c.power),
        up_(this, "up", c.linear, dims(c.input_dim, c.hidden_dim(c.input_dim))),
        down_(this, "down", c.linear, dims(c.hidden_dim(c.input_dim), c.input_dim)) {}

  Tensor forward(const Tensor& x) const override {
    const Tensor y = up_(x);
    const Tensor positive = maximum(y, zeros_like(y));
    return down_(power_ == 2 ? positive * positive : pow(positive, full_like(positive, power_)));
  }

 private:
  double power_;
  tenon::Child<tenon::Linear> up_, down_;
};

TENON_MODULE(SquaredReluFeedForward, tenon::FeedForward, "down(relu(up(x))^power)")

// In the place of every feed-forward: `--modify UseSquaredRelu`, or `--modify 'UseSquaredRelu{power = 3}'`.
struct UseSquaredRelu {
  double power = 2;
  TENON_FN(power)
  void operator()(tenon::AnyConfig& tree) const {
    SquaredReluFeedForward::Config to;
    to.power = power;
    tenon::replace<tenon::FeedForward>(tree, to);
  }
};
TENON_FN_TYPE(UseSquaredRelu, void(tenon::AnyConfig&), "squared ReLU in every feed-forward")

}  // namespace example

TENON_PLUGIN_ABI

extern "C" void tenon_plugin(tenon::Registry& registry) {
  registry.add<example::SquaredReluFeedForward, example::UseSquaredRelu>();
  example::register_loss_target(registry);
  tenon::Experiment experiment;
  experiment.name = "austen_squared_relu";
  experiment.description = "austen with squared ReLU";
  experiment.make = tenon::Austen{.hidden_dim = 512};
  experiment.modifiers = {example::UseSquaredRelu{}};
  tenon::ExperimentRegistry::global().add(experiment);
}
