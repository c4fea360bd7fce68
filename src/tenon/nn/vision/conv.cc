#include "tenon/nn/vision/conv.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_MODULE(Conv2D, Module, "each window of images [B,H,W,C] times a kernel", {"input_dim", "channels read"},
             {"output_dim", "channels made"}, {"kernel_size", "height and width of the kernel"},
             {"strides", "steps of the window, in height and width"},
             {"dilation", "of the kernel: n puts n - 1 zeros between its elements"},
             {"padding", "ValidPadding, SamePadding or ExplicitPadding"},
             {"groups", "group g of the outputs sees group g of the inputs; input_dim: depthwise"},
             {"bias", "whether a bias is added"},
             {"weight_partition", "mesh axes of height, width, input and output dimension"},
             {"init", "initializer of the kernel"})

void Conv2D::Config::check(Checker& c) const {
  c.positive("input_dim", input_dim);
  c.positive("output_dim", output_dim);
  check_window(c, "kernel_size", kernel_size);
  check_window(c, "strides", strides);
  check_window(c, "dilation", dilation);
  c.positive("groups", groups);
  if (groups < 1) return;
  c.require(input_dim % groups == 0, "groups", "must divide input_dim");
  c.require(output_dim % groups == 0, "groups", "must divide output_dim");
}

Conv2D::Conv2D(const Config& config)
    : Module(config),
      config_(config),
      weight_(this, "weight",
              {config.kernel_size[0], config.kernel_size[1], config.input_dim / config.groups, config.output_dim},
              {config.weight_partition, config.init, 1}) {
  if (!config.bias) return;
  bias_.emplace(this, "bias", Dims{config.output_dim}, ParamSpec{axis_of(config.weight_partition, 3), Constant{0}, 0});
}

Tensor Conv2D::forward(const Tensor& x) const {
  check_images(x, config_.input_dim);
  WindowArgs args{{x.dim(1), x.dim(2)}, {}, config_.strides};
  for (size_t d = 0; d < 2; ++d) args.window.push_back((config_.kernel_size[d] - 1) * config_.dilation[d] + 1);
  const auto [low, high] = pad_windows(config_.padding, x, args);
  const Tensor weight = weight_;
  const Tensor y = convolution(convert(x, weight.dtype()), weight,
                               {.strides = config_.strides,
                                .low = low,
                                .high = high,
                                .rhs_dilation = config_.dilation,
                                .groups = config_.groups});
  return bias_ ? y + Tensor(*bias_) : y;
}

}  // namespace tenon
