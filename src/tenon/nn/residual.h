#pragma once

#include "tenon/nn/norm.h"

namespace tenon {

// How a branch joins the residual stream: branch(prepare(x)), then merge(x, that).
class Residual : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim;
    TENON_FIELDS(input_dim)
  };
  virtual Tensor prepare(const Tensor& x) const = 0;
  virtual Tensor merge(const Tensor& x, const Tensor& branch) const = 0;

 protected:
  explicit Residual(const Config& config) : Module(config) {}
};

// x + branch(norm(x)) (Xiong et al. 2020).
class PreNormResidual final : public Residual {
 public:
  struct Config : Residual::Config {
    Slot<Norm> norm;
    Config();
    TENON_CONFIG(norm)
  };
  explicit PreNormResidual(const Config& config);
  Tensor prepare(const Tensor& x) const override;
  Tensor merge(const Tensor& x, const Tensor& branch) const override;

 private:
  Child<Norm> norm_;
};

}  // namespace tenon
