// Which experts see a token.
#pragma once

#include "tenon/nn/module.h"

namespace tenon {

struct Routing {
  Tensor experts;  // i32 [B,T,K]: a token's experts differ
  Tensor weights;  // f32 (f64 for f64 inputs) [B,T,K]: what each expert's output is multiplied by
  TENON_TREE(experts, weights)
};

class Router : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim, num_experts;
    TENON_FIELDS(input_dim, num_experts)
  };
  // x [B,T,D]. In training it also gives what keeps experts evenly loaded: auxiliary losses (auxiliary_loss.h), states.
  virtual Routing forward(const Tensor& x) const = 0;

 protected:
  explicit Router(const Config& config) : Module(config) {}
};

// How logits become scores: over all experts, or each by itself (DeepSeek-V3).
enum class RouterScore : uint8_t { softmax, sigmoid };
TENON_ENUM(RouterScore, softmax, sigmoid)

// The `top_k` experts of the highest scores, by a linear layer computed in f32 (Shazeer et al. 2017). It isn't told
// which tokens are padding: those are routed and counted like all others.
class TopKRouter final : public Router {
 public:
  struct Config : Router::Config {
    int64_t top_k = 2;
    RouterScore score = RouterScore::softmax;
    // A token's weights are divided by their sum. Not for a top_k of 1, whose weight that would always make 1.
    bool normalize = true;
    // Then multiplied by this.
    double weight_scale = 1;
    // Of load_balance_loss and router_z_loss (expert_balance.h) in the training loss; 0: none.
    double load_balance_loss = 0.01, z_loss = 0;
    // Above 0: experts are chosen by, but not weighted with, scores plus a bias each, which moves by this much a
    // microbatch: up where an expert saw fewer tokens of the one before than the mean, down where more (Wang et al.
    // 2024, "Auxiliary-Loss-Free Load Balancing", with the sign; DeepSeek-V3: 1e-3). Unlike losses, it depends on how a
    // batch is split into microbatches.
    double bias_update_rate = 0;
    PartitionSpec weight_partition = {"fsdp", {}};
    Initializer init;  // empty: FanInNormal
    void check(Checker& c) const;
    TENON_CONFIG(top_k, score, normalize, weight_scale, load_balance_loss, z_loss, bias_update_rate, weight_partition,
                 init)
  };
  explicit TopKRouter(const Config& config);
  Routing forward(const Tensor& x) const override;

 private:
  Tensor logits(const Tensor& x) const;
  Tensor bias() const;
  void balance(const Tensor& logits, const Tensor& probabilities, const Tensor& experts) const;
  Config config_;
  Param weight_;
  std::optional<State> bias_, load_;  // [E]; load as expert_load, of the last microbatch
};

}  // namespace tenon
