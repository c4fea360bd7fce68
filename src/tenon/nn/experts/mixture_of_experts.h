#pragma once

#include "tenon/nn/experts/experts.h"
#include "tenon/nn/experts/router.h"

namespace tenon {

// A sparse feed-forward (Shazeer et al. 2017): each token's sum of what a few experts make of it, weighted by a router,
// and, if there are any, of shared experts, which see every token.
class MixtureOfExperts final : public FeedForward {
 public:
  struct Config : FeedForward::Config {
    Required<int64_t> num_experts;
    Slot<Router> router;
    Slot<Dispatch> dispatch;
    Slot<Experts> experts;
    std::optional<Slot<FeedForward>> shared;
    // The shared experts' output is multiplied by the sigmoid of one number a token (Qwen2-MoE).
    std::optional<Slot<Linear>> shared_gate;
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(num_experts, router, dispatch, experts, shared, shared_gate)
  };
  explicit MixtureOfExperts(const Config& config);
  Tensor forward(const Tensor& x) const override;

 private:
  Child<Router> router_;
  Child<Dispatch> dispatch_;
  Child<Experts> experts_;
  std::optional<Child<FeedForward>> shared_;
  std::optional<Child<Linear>> shared_gate_;
};

}  // namespace tenon
