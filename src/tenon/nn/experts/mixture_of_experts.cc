#include "tenon/nn/experts/mixture_of_experts.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_MODULE(MixtureOfExperts, FeedForward, "each token by a few of many experts, chosen by a router",
             {"num_experts", "feed-forwards to choose from"}, {"router", "which of them see a token"},
             {"dispatch", "how tokens get to them and back"},
             {"shared", "a feed-forward that sees every token; empty: none"},
             {"shared_gate", "gives one number a token, whose sigmoid the shared output is multiplied by; empty: 1"})

MixtureOfExperts::Config::Config()
    : router(TopKRouter::Config{}), dispatch(CapacityDispatch::Config{}), experts(GatedExperts::Config{}) {}

void MixtureOfExperts::Config::check(Checker& c) const {
  c.positive("input_dim", input_dim);
  c.positive("num_experts", num_experts);
  c.require(shared || !shared_gate, "shared_gate", "needs shared experts");
}

MixtureOfExperts::MixtureOfExperts(const Config& c)
    : FeedForward(c),
      router_(this, "router", c.router,
              [&](Router::Config& r) {
                r.input_dim = c.input_dim;
                r.num_experts = c.num_experts;
              }),
      dispatch_(this, "dispatch", c.dispatch, [&](Dispatch::Config& d) { d.num_experts = c.num_experts; }),
      experts_(this, "experts", c.experts, [&](Experts::Config& e) {
        e.input_dim = c.input_dim;
        e.num_experts = c.num_experts;
      }) {
  if (c.shared) shared_.emplace(this, "shared", *c.shared, [&](FeedForward::Config& f) { f.input_dim = c.input_dim; });
  if (!c.shared_gate) return;
  shared_gate_.emplace(this, "shared_gate", *c.shared_gate, [&](Linear::Config& l) {
    l.input_dim = c.input_dim;
    l.output_dim = 1;
  });
}

Tensor MixtureOfExperts::forward(const Tensor& x) const {
  const Routing routing = router_(x);
  const Dispatched dispatched = dispatch_.call(&Dispatch::dispatch, x, routing.experts);
  const Tensor routed = dispatch_.call(&Dispatch::combine, dispatched, experts_(dispatched), routing.weights);
  if (!shared_) return routed;
  const Tensor shared = (*shared_)(x);
  return routed + (shared_gate_ ? shared * logistic((*shared_gate_)(x)) : shared);
}

}  // namespace tenon
