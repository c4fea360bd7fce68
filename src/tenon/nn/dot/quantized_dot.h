// Linear layers in 8 bits. Parameters stay in f32; what is rounded is what a product reads (docs/quantization.md).
#pragma once

#include "tenon/nn/dot/dot.h"

namespace tenon {

// x W of 8-bit integers, summed in 32 bits: every row of x and every column of W is divided by its largest magnitude /
// 127 and rounded to nearest even, and the result multiplied back. The gradient is that of the product of the rounded
// operands, rounding itself taken for the identity (straight-through; Bengio et al. 2013). Keeps no state. Throws
// `unsupported` for more than 133,000 terms in a sum, which 32 bits can't hold.
class Int8Dot final : public Dot {
 public:
  struct Config : Dot::Config {
    TENON_CONFIG()
  };
  explicit Int8Dot(const Config& config) : Dot(config) {}
  Tensor forward(const Tensor& x, const Tensor& weight) const override;
};

// x W in 8-bit floats, summed in f32: x and W rounded to f8e4m3fn, the gradient of the result to f8e5m2 (Micikevicius
// et al. 2022, "FP8 formats for deep learning"). Scales are delayed: an array is multiplied by the format's largest
// number / (2^margin * the largest magnitude of the last `history` microbatches); what exceeds that is clipped.
// Infinities and NaN stay so. Training updates the histories, three states of [history]; anything else reads them.
class Fp8Dot final : public Dot {
 public:
  struct Config : Dot::Config {
    int64_t history = 16;
    int64_t margin = 0;
    void check(Checker& c) const;
    TENON_CONFIG(history, margin)
  };
  explicit Fp8Dot(const Config& config);
  Tensor forward(const Tensor& x, const Tensor& weight) const override;

 private:
  double headroom_;  // 2^margin
  State input_amax_, weight_amax_, gradient_amax_;
};

}  // namespace tenon
