#pragma once

#include "tenon/nn/basic/activations.h"
#include "tenon/nn/basic/linear.h"

namespace tenon {

// A hidden dimension from the input dimension: scale * input_dim, rounded up to a multiple.
struct ScaledDim {
  double scale = 4;
  int64_t round_up_to = 1;
  TENON_FN(scale, round_up_to)
  int64_t operator()(int64_t input_dim) const;
};

class FeedForward : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim;
    TENON_FIELDS(input_dim)
  };
  virtual Tensor forward(const Tensor& x) const = 0;  // [B,T,D] -> [B,T,D]

 protected:
  explicit FeedForward(const Config& config) : Module(config) {}
};

// down(activation(gate(x)) * up(x)) (Shazeer 2020, eq. 6).
class GatedFeedForward final : public FeedForward {
 public:
  struct Config : FeedForward::Config {
    Fn<int64_t(int64_t)> hidden_dim = ScaledDim{.scale = 8.0 / 3, .round_up_to = 256};
    Activation activation = Silu{};
    Slot<Linear> linear;  // gate and up
    Slot<Linear> down;
    PartitionSpec hidden_partition = {{"data", "expert", "fsdp"}, {"seq"}, {"model"}};
    Config();
    TENON_CONFIG(hidden_dim, activation, linear, down, hidden_partition)
  };
  explicit GatedFeedForward(const Config& config);
  Tensor forward(const Tensor& x) const override;

 private:
  Activation activation_;
  PartitionSpec hidden_partition_;
  Child<Linear> gate_, up_, down_;
};

// down(activation(up(x))) (Vaswani et al. 2017, eq. 2).
class PlainFeedForward final : public FeedForward {
 public:
  struct Config : FeedForward::Config {
    Fn<int64_t(int64_t)> hidden_dim = ScaledDim{};
    Activation activation = Gelu{};
    Slot<Linear> up, down;
    double dropout = 0;  // share of hidden elements that are dropped in training
    PartitionSpec hidden_partition = {{"data", "expert", "fsdp"}, {"seq"}, {"model"}};
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(hidden_dim, activation, up, down, dropout, hidden_partition)
  };
  explicit PlainFeedForward(const Config& config);
  Tensor forward(const Tensor& x) const override;

 private:
  Activation activation_;
  double dropout_;
  PartitionSpec hidden_partition_;
  Child<Linear> up_, down_;
};

}  // namespace tenon
