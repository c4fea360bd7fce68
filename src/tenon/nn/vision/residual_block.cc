#include "tenon/nn/vision/residual_block.h"

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/vision/batch_norm.h"

namespace tenon {

TENON_INTERFACE(ResidualBlock, Module, "a block of a ResNet: activation(shortcut(x) + branch(x))",
                {"input_dim", "channels read"}, {"output_dim", "channels made"},
                {"stride", "of the window that makes the image smaller"},
                {"conv", "its kernels, strides and dimensions are the block's"}, {"norm", "behind each convolution"},
                {"last_norm", "behind the branch's last one"},
                {"activation", "behind each norm, the last time the sum"})
TENON_MODULE(BasicBlock, ResidualBlock, "two 3 x 3 convolutions; He et al. 2015")
TENON_MODULE(BottleneckBlock, ResidualBlock, "1 x 1 to a quarter, 3 x 3, 1 x 1; He et al. 2015, \"v1.5\"")

ResidualBlock::Config::Config() : conv(Conv2D::Config{}), norm(BatchNorm::Config{}), last_norm(BatchNorm::Config{}) {
  conv.as<Conv2D>().init = FanInNormal{std::sqrt(2.0)};
}

void ResidualBlock::Config::check(Checker& c) const {
  c.positive("input_dim", input_dim);
  c.positive("output_dim", output_dim);
  c.positive("stride", stride);
}

void BottleneckBlock::Config::check(Checker& c) const {
  c.require(output_dim % 4 == 0, "output_dim", "must be a multiple of 4");
}

Slot<Conv2D> ResidualBlock::conv_of(const Config& config, int64_t input_dim, int64_t output_dim, int64_t kernel_size,
                                    int64_t stride) {
  Slot<Conv2D> out = config.conv;
  out->input_dim = input_dim;
  out->output_dim = output_dim;
  out->kernel_size = {kernel_size, kernel_size};
  out->strides = {stride, stride};
  out->padding = pad_all_sides(kernel_size / 2);
  return out;
}

Slot<Norm> ResidualBlock::norm_of(const Slot<Norm>& norm, int64_t input_dim) {
  Slot<Norm> out = norm;
  out->input_dim = input_dim;
  return out;
}

ResidualBlock::ResidualBlock(const Config& config) : Module(config), activation_(config.activation) {
  if (config.stride == 1 && config.input_dim == config.output_dim) return;
  shortcut_.emplace(this, "shortcut", conv_of(config, config.input_dim, config.output_dim, 1, config.stride));
  shortcut_norm_.emplace(this, "shortcut_norm", norm_of(config.norm, config.output_dim));
}

Tensor ResidualBlock::forward(const Tensor& x) const {
  const Tensor shortcut = shortcut_ ? (*shortcut_norm_)((*shortcut_)(x)) : x;
  return activation_(shortcut + branch(x));
}

BasicBlock::BasicBlock(const Config& c)
    : ResidualBlock(c),
      conv1_(this, "conv1", conv_of(c, c.input_dim, c.output_dim, 3, c.stride)),
      conv2_(this, "conv2", conv_of(c, c.output_dim, c.output_dim, 3, 1)),
      norm1_(this, "norm1", norm_of(c.norm, c.output_dim)),
      norm2_(this, "norm2", norm_of(c.last_norm, c.output_dim)) {}

Tensor BasicBlock::branch(const Tensor& x) const { return norm2_(conv2_(activate(norm1_(conv1_(x))))); }

BottleneckBlock::BottleneckBlock(const Config& c)
    : ResidualBlock(c),
      conv1_(this, "conv1", conv_of(c, c.input_dim, c.output_dim / 4, 1, 1)),
      conv2_(this, "conv2", conv_of(c, c.output_dim / 4, c.output_dim / 4, 3, c.stride)),
      conv3_(this, "conv3", conv_of(c, c.output_dim / 4, c.output_dim, 1, 1)),
      norm1_(this, "norm1", norm_of(c.norm, c.output_dim / 4)),
      norm2_(this, "norm2", norm_of(c.norm, c.output_dim / 4)),
      norm3_(this, "norm3", norm_of(c.last_norm, c.output_dim)) {}

Tensor BottleneckBlock::branch(const Tensor& x) const {
  const Tensor narrow = activate(norm1_(conv1_(x)));
  return norm3_(conv3_(activate(norm2_(conv2_(narrow)))));
}

}  // namespace tenon
