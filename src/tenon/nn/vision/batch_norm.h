#pragma once

#include "tenon/nn/basic/norm.h"

namespace tenon {

// (x - mean) / sqrt(variance + eps) * scale + bias (Ioffe & Szegedy 2015, algorithms 1 and 2). In training the moments
// of each channel are those of the batch: all of it, whatever devices it is split over, but of each microbatch when
// gradients are accumulated. They are kept as running means, the variance without bias, and used outside training.
class BatchNorm final : public Norm {
 public:
  struct Config : Norm::Config {
    double eps = 1e-5;
    // What the running means keep of themselves at each step.
    double momentum = 0.9;
    // Of the parameter: 0 for the last norm of a branch makes the branch start as nothing (Goyal et al. 2017,
    // section 5.1).
    double initial_scale = 1;
    void check(Checker& c) const;
    TENON_CONFIG(eps, momentum, initial_scale)
  };
  explicit BatchNorm(const Config& config);
  // Throws `shape_mismatch`, in training also when a channel has one element.
  Tensor forward(const Tensor& x) const override;

 private:
  struct Moments {
    Tensor mean, variance;
  };
  Moments moments(const Tensor& x) const;
  int64_t input_dim_;
  double eps_, momentum_;
  Param scale_, bias_;
  State mean_, variance_;
};

}  // namespace tenon
