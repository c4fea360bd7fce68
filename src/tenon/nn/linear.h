#pragma once

#include "tenon/nn/module.h"

namespace tenon {

// The contraction inside a linear layer: the seam for quantization.
class Dot : public Module {
 public:
  struct Config : Module::Config {
    TENON_FIELDS()
  };
  // x [..., in], weight [in, out] -> [..., out].
  virtual Tensor forward(const Tensor& x, const Tensor& weight) const = 0;

 protected:
  explicit Dot(const Config& config) : Module(config) {}
};

// A matrix product in the operands' dtype, summed in f32 or wider. Leading dimensions are folded into one, the form
// every backend runs fast.
class PlainDot final : public Dot {
 public:
  struct Config : Dot::Config {
    TENON_CONFIG()
  };
  explicit PlainDot(const Config& config) : Dot(config) {}
  Tensor forward(const Tensor& x, const Tensor& weight) const override;
};

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

}  // namespace tenon
