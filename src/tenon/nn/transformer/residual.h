#pragma once

#include "tenon/nn/basic/norm.h"

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

// norm(x + branch(x)) (Vaswani et al. 2017).
class PostNormResidual final : public Residual {
 public:
  struct Config : Residual::Config {
    Slot<Norm> norm;
    Config();
    TENON_CONFIG(norm)
  };
  explicit PostNormResidual(const Config& config);
  Tensor prepare(const Tensor& x) const override;
  Tensor merge(const Tensor& x, const Tensor& branch) const override;

 private:
  Child<Norm> norm_;
};

// x + post_norm(branch(norm(x))): the residual stream stays untouched, and what is added to it bounded (Gemma 2, 2024).
class HybridNormResidual final : public Residual {
 public:
  struct Config : Residual::Config {
    Slot<Norm> norm, post_norm;
    Config();
    TENON_CONFIG(norm, post_norm)
  };
  explicit HybridNormResidual(const Config& config);
  Tensor prepare(const Tensor& x) const override;
  Tensor merge(const Tensor& x, const Tensor& branch) const override;

 private:
  Child<Norm> norm_, post_norm_;
};

// Drops elements of the branch in training (Srivastava et al. 2014), then merges as another residual does.
class DropoutResidual final : public Residual {
 public:
  struct Config : Residual::Config {
    double rate = 0.1;
    Slot<Residual> residual;
    Config();  // residual: PreNormResidual
    void check(Checker& c) const;
    TENON_CONFIG(rate, residual)
  };
  explicit DropoutResidual(const Config& config);
  Tensor prepare(const Tensor& x) const override;
  Tensor merge(const Tensor& x, const Tensor& branch) const override;

 private:
  double rate_;
  Child<Residual> residual_;
};

// How often layers are dropped: all equally often, or layer l of L, counted from 1, at l / L times the rate (the linear
// rule of Huang et al. 2016, section 3).
enum class DepthSchedule : uint8_t { constant, linear };
TENON_ENUM(DepthSchedule, constant, linear)

// Drops the branch of whole rows of the batch in training (Huang et al. 2016), then merges as another residual does.
class StochasticDepthResidual final : public Residual {
 public:
  struct Config : Residual::Config {
    double rate = 0.1;
    DepthSchedule schedule = DepthSchedule::constant;  // linear: only in a stack of layers
    Slot<Residual> residual;
    Config();  // residual: PreNormResidual
    void check(Checker& c) const;
    TENON_CONFIG(rate, schedule, residual)
  };
  explicit StochasticDepthResidual(const Config& config);
  Tensor prepare(const Tensor& x) const override;
  Tensor merge(const Tensor& x, const Tensor& branch) const override;

 private:
  double rate_;
  DepthSchedule schedule_;
  Child<Residual> residual_;
};

}  // namespace tenon
