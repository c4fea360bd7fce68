// The contraction inside a linear layer: the seam for quantization and adapters.
#pragma once

#include "tenon/nn/module.h"

namespace tenon {

class Dot : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim, output_dim;
    Required<PartitionSpec> weight_partition;
    TENON_FIELDS(input_dim, output_dim, weight_partition)
  };
  // x [..., in], weight [in, out] of one dtype -> [..., out] in that dtype.
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

// x [..., in] as [M, in]; and y [M, out] as [..., out], with the leading dimensions of `x`.
Tensor fold_rows(const Tensor& x);
Tensor unfold_rows(const Tensor& y, const Tensor& x);

}  // namespace tenon
