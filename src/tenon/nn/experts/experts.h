// The experts of a mixture: feed-forwards with one more dimension.
#pragma once

#include "tenon/nn/basic/feed_forward.h"
#include "tenon/nn/experts/dispatch.h"

namespace tenon {

class Experts : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim, num_experts;
    TENON_FIELDS(input_dim, num_experts)
  };
  // Each of dispatched.tokens by its expert.
  virtual Tensor forward(const Dispatched& dispatched) const = 0;

 protected:
  explicit Experts(const Config& config) : Module(config) {}
};

// Each matrix of an array [E, …] as `init` (empty: FanInNormal) would make it alone.
struct PerExpert {
  Initializer init = {};
  TENON_FN(init)
  Tensor operator()(const InitArgs& args) const;
};

// down(activation(gate(x)) * up(x)), with matrices of each expert's own.
class GatedExperts final : public Experts {
 public:
  struct Config : Experts::Config {
    Fn<int64_t(int64_t)> hidden_dim = ScaledDim{.scale = 8.0 / 3, .round_up_to = 256};
    Activation activation = Silu{};
    PartitionSpec weight_partition = {"expert", "fsdp", "model"};  // gate and up, [E, D, F]
    PartitionSpec down_partition = {"expert", "model", "fsdp"};    // [E, F, D]
    Initializer init = PerExpert{};
    void check(Checker& c) const;
    TENON_CONFIG(hidden_dim, activation, weight_partition, down_partition, init)
  };
  explicit GatedExperts(const Config& config);
  Tensor forward(const Dispatched& dispatched) const override;

 private:
  Activation activation_;
  Param gate_, up_, down_;
};

}  // namespace tenon
