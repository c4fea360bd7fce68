// Blocks of a ResNet.
#pragma once

#include <optional>

#include "tenon/nn/basic/activations.h"
#include "tenon/nn/basic/norm.h"
#include "tenon/nn/vision/conv.h"

namespace tenon {

// activation(shortcut(x) + branch(x)). The shortcut is x itself, or, where the block changes its shape, a 1 x 1
// convolution and a norm ("projection shortcut", He et al. 2015, section 3.3, B).
class ResidualBlock : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim, output_dim, stride;
    Slot<Conv2D> conv;           // kernels, strides and dimensions are the block's
    Slot<Norm> norm, last_norm;  // last_norm: the branch's last one
    Activation activation = Relu{};
    Config();  // conv: initial deviation sqrt(2 / fan_in) (He et al. 2015, "Delving deep"); norms: BatchNorm
    void check(Checker& c) const;
    TENON_FIELDS(input_dim, output_dim, stride, conv, norm, last_norm, activation)
  };
  // x [B,H,W,input_dim] -> [B, ceil(H / stride), ceil(W / stride), output_dim].
  Tensor forward(const Tensor& x) const;

 protected:
  explicit ResidualBlock(const Config& config);
  virtual Tensor branch(const Tensor& x) const = 0;
  // Of `config`: a convolution of so many channels, with a kernel of kernel_size x kernel_size that keeps the image's
  // size but for the stride.
  static Slot<Conv2D> conv_of(const Config& config, int64_t input_dim, int64_t output_dim, int64_t kernel_size,
                              int64_t stride);
  static Slot<Norm> norm_of(const Slot<Norm>& norm, int64_t input_dim);
  Tensor activate(const Tensor& x) const { return activation_(x); }

 private:
  Activation activation_;
  std::optional<Child<Conv2D>> shortcut_;
  std::optional<Child<Norm>> shortcut_norm_;
};

// Two 3 x 3 convolutions, the first with the stride (He et al. 2015, figure 5, left).
class BasicBlock final : public ResidualBlock {
 public:
  struct Config : ResidualBlock::Config {
    TENON_CONFIG()
  };
  explicit BasicBlock(const Config& config);

 private:
  Tensor branch(const Tensor& x) const override;
  Child<Conv2D> conv1_, conv2_;
  Child<Norm> norm1_, norm2_;
};

// 1 x 1 to a quarter of output_dim, 3 x 3, 1 x 1 to output_dim (He et al. 2015, figure 5, right), with the stride in
// the 3 x 3 one ("v1.5"; Goyal et al. 2017, section 5.1).
class BottleneckBlock final : public ResidualBlock {
 public:
  struct Config : ResidualBlock::Config {
    void check(Checker& c) const;
    TENON_CONFIG()
  };
  explicit BottleneckBlock(const Config& config);

 private:
  Tensor branch(const Tensor& x) const override;
  Child<Conv2D> conv1_, conv2_, conv3_;
  Child<Norm> norm1_, norm2_, norm3_;
};

}  // namespace tenon
