#pragma once

#include "tenon/nn/module.h"

namespace tenon {

class Norm : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim;
    TENON_FIELDS(input_dim)
  };
  // [..., input_dim] -> the same; computed in f32, returned in the dtype of `x`.
  virtual Tensor forward(const Tensor& x) const = 0;

 protected:
  explicit Norm(const Config& config) : Module(config) {}
};

// x / sqrt(mean(x^2) + eps) * scale (Zhang & Sennrich 2019).
class RMSNorm final : public Norm {
 public:
  struct Config : Norm::Config {
    double eps = 1e-5;
    // Whether the parameter is scale - 1, which starts at 0.
    bool zero_centered = false;
    void check(Checker& c) const;
    TENON_CONFIG(eps, zero_centered)
  };
  explicit RMSNorm(const Config& config);
  Tensor forward(const Tensor& x) const override;

 private:
  double eps_;
  bool zero_centered_;
  Param scale_;
};

// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * scale + bias (Ba et al. 2016).
class LayerNorm final : public Norm {
 public:
  struct Config : Norm::Config {
    double eps = 1e-5;
    bool bias = true;
    void check(Checker& c) const;
    TENON_CONFIG(eps, bias)
  };
  explicit LayerNorm(const Config& config);
  Tensor forward(const Tensor& x) const override;

 private:
  double eps_;
  Param scale_;
  std::optional<Param> bias_;
};

// x itself: behind a stack whose layers end with norms of their own.
class NoNorm final : public Norm {
 public:
  struct Config : Norm::Config {
    TENON_CONFIG()
  };
  explicit NoNorm(const Config& config) : Norm(config) {}
  Tensor forward(const Tensor& x) const override { return x; }
};

}  // namespace tenon
