#include "tenon/config/test_types.h"

#include <cmath>

#include "tenon/config/define.h"

namespace tenon::zoo {

TENON_INTERFACE(Part, Configurable, "a part of a model", {"compute_dtype", "dtype to compute in; empty: inherited"})
TENON_MODULE(Linear, Part, "y = x W + b", {"bias", "whether b is added"}, {"weight_partition", "how W is split"})
TENON_INTERFACE(FeedForward, Part, "position by position")
TENON_MODULE(GatedFeedForward, FeedForward, "down(silu(gate(x)) * up(x))")
TENON_MODULE(Experts, FeedForward, "a mixture of experts")
TENON_MODULE(Model, Configurable, "one field of every type")
TENON_FN_TYPE(ScaledDim, int64_t(int64_t), "scale * dim, rounded up")
TENON_FN_TYPE(Doubled, int64_t(int64_t), "2 * dim")
TENON_FN_TYPE(Warmup, double(int64_t), "from 0 to 1 in `steps`")

void Linear::Config::check(Checker& c) const { c.positive("output_dim", output_dim); }

int64_t ScaledDim::operator()(int64_t input_dim) const {
  const auto scaled = static_cast<int64_t>(std::ceil(scale * static_cast<double>(input_dim)));
  return (scaled + round_up_to - 1) / round_up_to * round_up_to;
}
double Warmup::operator()(int64_t step) const { return static_cast<double>(step) / static_cast<double>(*steps); }

GatedFeedForward::Config::Config() : linear(Linear::Config{}) {}
GatedFeedForward::GatedFeedForward(const Config& config) {
  Slot<Linear> up = config.linear;
  up->input_dim = config.input_dim;
  up->output_dim = config.hidden_dim(config.input_dim);
  up_ = up.build();
}
Experts::Config::Config() : linear(Linear::Config{}), expert(GatedFeedForward::Config{}) {}
void Experts::Config::check(Checker& c) const { c.at_least("num_experts", num_experts, 1); }

void register_zoo(Registry& registry) {
  registry.add<Part, Linear, FeedForward, GatedFeedForward, Experts, Model, ScaledDim, Doubled, Warmup>();
}
const Registry& registry() {
  static const Registry registry = [] {
    Registry r;
    register_zoo(r);
    return r;
  }();
  return registry;
}

}  // namespace tenon::zoo
