#include "tenon/nn/experts/experts.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_INTERFACE(Experts, Module, "feed-forwards, one of which changes a token")
using InitSignature = Tensor(const InitArgs&);
TENON_FN_TYPE(PerExpert, InitSignature, "each expert's matrix as it would start alone",
              {"init", "of one; empty: FanInNormal"})
TENON_MODULE(GatedExperts, Experts, "GatedFeedForwards with matrices [E, ...]",
             {"hidden_dim", "size between, a number or a function of input_dim"},
             {"weight_partition", "mesh axes of gate and up, [E, input_dim, hidden_dim]"},
             {"down_partition", "mesh axes of down, [E, hidden_dim, input_dim]"}, {"init", "initializer of all three"})

Tensor PerExpert::operator()(const InitArgs& args) const {
  InitArgs one = args;
  one.fan_in /= args.shape.at(0);
  return init ? init(one) : FanInNormal{}(one);
}

void GatedExperts::Config::check(Checker& c) const {
  c.positive("input_dim", input_dim);
  c.positive("num_experts", num_experts);
}

GatedExperts::GatedExperts(const Config& c)
    : Experts(c),
      activation_(c.activation),
      gate_(this, "gate", {c.num_experts, c.input_dim, c.hidden_dim(c.input_dim)},
            {.partition = c.weight_partition, .init = c.init}),
      up_(this, "up", {c.num_experts, c.input_dim, c.hidden_dim(c.input_dim)},
          {.partition = c.weight_partition, .init = c.init}),
      down_(this, "down", {c.num_experts, c.hidden_dim(c.input_dim), c.input_dim},
            {.partition = c.down_partition, .init = c.init}) {}

Tensor GatedExperts::forward(const Dispatched& d) const {
  const Tensor gate = tag(d.product(d.tokens, gate_), "gate"), up = tag(d.product(d.tokens, up_), "up");
  return tag(d.product(tag(activation_(gate) * up, "hidden"), down_), "expert_output");
}

}  // namespace tenon
