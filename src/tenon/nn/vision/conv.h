#pragma once

#include <optional>
#include <vector>

#include "tenon/nn/module.h"
#include "tenon/nn/vision/window.h"

namespace tenon {

// Each window of an image times a kernel (LeCun et al. 1989). Two numbers are height and width.
class Conv2D final : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim, output_dim;
    std::vector<int64_t> kernel_size = {3, 3}, strides = {1, 1};
    std::vector<int64_t> dilation = {1, 1};  // of the kernel: n puts n - 1 zeros between its elements
    Padding padding = SamePadding{};
    int64_t groups = 1;  // group g of the outputs sees group g of the inputs; input_dim: depthwise
    bool bias = false;
    PartitionSpec weight_partition = {{}, {}, "fsdp", "model"};
    Initializer init;  // empty: FanInNormal
    void check(Checker& c) const;
    TENON_CONFIG(input_dim, output_dim, kernel_size, strides, dilation, padding, groups, bias, weight_partition, init)
  };
  explicit Conv2D(const Config& config);
  // x [B,H,W,input_dim] -> [B, windows of height, windows of width, output_dim], in the dtype parameters are read in.
  Tensor forward(const Tensor& x) const;

 private:
  Config config_;
  Param weight_;  // [height, width, input_dim / groups, output_dim]
  std::optional<Param> bias_;
};

}  // namespace tenon
