#pragma once

#include "tenon/nn/dot/dot.h"

namespace tenon {

// y = x W + b.
class Linear final : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim, output_dim;
    bool bias = false;
    PartitionSpec weight_partition = {"fsdp", "model"};
    Initializer init;  // empty: FanInNormal
    Slot<Dot> dot;
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(input_dim, output_dim, bias, weight_partition, init, dot)
  };
  explicit Linear(const Config& config);
  // [..., input_dim] -> [..., output_dim].
  Tensor forward(const Tensor& x) const;

 private:
  int64_t input_dim_;
  Param weight_;
  std::optional<Param> bias_;
  Child<Dot> dot_;
};

// What gives a child its widths: Child<Linear>(this, "up", c.up, linear_dims(in, out)).
inline auto linear_dims(int64_t input_dim, int64_t output_dim) {
  return [=](Linear::Config& c) {
    c.input_dim = input_dim;
    c.output_dim = output_dim;
  };
}

}  // namespace tenon
