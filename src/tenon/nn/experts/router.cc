#include "tenon/nn/experts/router.h"

#include <fmt/format.h>

#include <limits>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/experts/auxiliary_loss.h"
#include "tenon/nn/experts/expert_balance.h"

namespace tenon {

TENON_INTERFACE(Router, Module, "which experts see a token, and what their outputs are multiplied by")
TENON_MODULE(TopKRouter, Router, "the experts of the highest scores", {"top_k", "experts a token"},
             {"score", "softmax over all experts, or sigmoid of each logit"},
             {"normalize", "whether a token's weights are divided by their sum"},
             {"weight_scale", "what weights are multiplied by in the end"},
             {"load_balance_loss", "share in the training loss of the Switch Transformer's balance loss, a sequence"},
             {"z_loss", "share in the training loss of ST-MoE's loss of large logits"},
             {"bias_update_rate", "how far a bias on each expert's score moves toward even loads in a microbatch"},
             {"weight_partition", "mesh axes of [input_dim, num_experts]"}, {"init", "initializer of the weight"})

void TopKRouter::Config::check(Checker& c) const {
  c.positive("num_experts", num_experts);
  c.positive("top_k", top_k);
  c.at_most("top_k", top_k, num_experts);
  c.require(top_k != 1 || !normalize, "normalize",
            "must be false for one expert a token: its weight would always be 1, and no gradient reach the router");
  check_above_zero(c, "weight_scale", weight_scale);
  check_not_negative(c, "load_balance_loss", load_balance_loss);
  check_not_negative(c, "z_loss", z_loss);
  check_not_negative(c, "bias_update_rate", bias_update_rate);
}

namespace {

// The k experts of the largest numbers, the lower of equals first. By sorting: for top_k, the partitioner gathers the
// whole batch. NaN comes first, so that it shows in the output.
Tensor best_experts(const Tensor& choice, int64_t k) {
  const Tensor most = full_like(choice, std::numeric_limits<double>::infinity());
  const Tensor key = select(not_equal(choice, choice), most, choice);
  const std::vector<Tensor> sorted =
      sort_together(std::vector<Tensor>{key, iota({DType::i32, choice.dims()}, 2)}, 2, /*descending=*/true);
  return slice_dim(sorted[1], 2, 0, k);
}

}  // namespace

TopKRouter::TopKRouter(const Config& config)
    : Router(config),
      config_(config),
      weight_(this, "weight", {config.input_dim, config.num_experts},
              {.partition = config.weight_partition, .init = config.init}) {
  if (config.bias_update_rate == 0) return;
  bias_.emplace(this, "bias", Dims{config.num_experts});
  load_.emplace(this, "load", Dims{config.num_experts});
}

Tensor TopKRouter::logits(const Tensor& x) const {
  const DType wide = wide_dtype(x.dtype());
  return dot_general(convert(x, wide), convert(weight_.full(), wide),
                     {.lhs_batch = {}, .rhs_batch = {}, .lhs_contract = {2}, .rhs_contract = {0}});
}

// Loads that differ from even ones by rounding count as even, so that no way of summing moves a bias.
Tensor TopKRouter::bias() const {
  const Tensor last = convert(*bias_, DType::f32), load = convert(*load_, DType::f32);
  return last + sign(round_nearest_even((1.0 - load) * 1e5)) * config_.bias_update_rate;
}

Routing TopKRouter::forward(const Tensor& x) const {
  if (x.rank() != 3 || x.dim(2) != config_.input_dim) {
    throw Error(ErrorCode::shape_mismatch, "the input of a router")
        .at(Context::current().path())
        .got(to_string(x.type()))
        .expected(fmt::format("[B, T, {}]", config_.input_dim.value()));
  }
  const Tensor z = tag(logits(x), "router_logits");
  Tensor scores, probabilities;
  if (config_.score == RouterScore::softmax) {
    const Tensor shifted = exp(z - stop_gradient(max_keep(z, {-1})));
    scores = probabilities = shifted / sum_keep(shifted, {-1});
  } else {
    scores = logistic(z);
    probabilities = scores / (sum_keep(scores, {-1}) + 1e-20);
  }
  Tensor choice = stop_gradient(scores);
  if (bias_) choice = choice + convert(bias(), choice.dtype());
  const Tensor experts = best_experts(choice, config_.top_k);
  Tensor weights = pick_experts(scores, experts);
  if (config_.normalize) weights = weights / (sum_keep(weights, {-1}) + 1e-20);
  balance(z, probabilities, experts);
  return {experts, config_.weight_scale == 1 ? weights : weights * config_.weight_scale};
}

void TopKRouter::balance(const Tensor& z, const Tensor& probabilities, const Tensor& experts) const {
  const Tensor load = expert_load(experts, config_.num_experts);
  const Tensor mean_load = mean(load, {0});
  summary("load_max", reduce_max(mean_load, {0}), Merge::max);
  summary("load_min", reduce_min(mean_load, {0}));
  summary("entropy", mean(neg(reduce_sum(probabilities * log(probabilities + 1e-30), {-1})), {0, 1}));
  if (!is_training()) return;
  if (config_.load_balance_loss > 0) {
    auxiliary_loss("load_balance", load_balance_loss(probabilities, load) * config_.load_balance_loss);
  }
  if (config_.z_loss > 0) auxiliary_loss("z", router_z_loss(z) * config_.z_loss);
  if (!bias_) return;
  bias_->update(bias());
  load_->update(mean_load);
}

}  // namespace tenon
