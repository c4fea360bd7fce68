// Shampoo: gradients of matrices scaled by roots of their statistics along rows and columns.
#pragma once

#include <utility>

#include "tenon/optim/optimizer.h"

namespace tenon {

// Gupta, Koren & Singer 2018 ("Shampoo: preconditioned stochastic tensor optimization", algorithm 1), with running
// means and Adam's size of steps (grafting: Anil et al. 2020, "Scalable second order optimization for deep learning",
// section 4), under which learning rate and weight decay mean what they mean to AdamW:
//   m, v and the direction a are Adam's          L = b2 L + (1 - b2) g g^T          R = b2 R + (1 - b2) g^T g
//   u = L^(-1/4) m R^(-1/4)          p = p - lr (weight_decay decay_scale p + |a| / |u| u)
// with the roots of the first and then every `root_every`th update (inverse_root, each to a factor, which the norms
// take out). A side longer than `max_dim` isn't scaled, and the other one then has the root -1/2. For the matrices of
// hidden layers; OptimizerByPath gives the rest to another optimizer. A stack's layers are matrices of their own.
// Statistics and roots are f32 and split along their rows by all axes that split the parameter, their side's first.
class Shampoo final : public Optimizer {
 public:
  struct Config : Optimizer::Config {
    double b1 = 0.9;
    double b2 = 0.95;
    double eps = 1e-8;
    double weight_decay = 0.1;
    double ridge = 1e-4;
    int64_t root_every = 10;
    int64_t max_dim = 8192;
    void check(Checker& c) const;
    TENON_CONFIG(b1, b2, eps, weight_decay, ridge, root_every, max_dim)
  };
  explicit Shampoo(const Config& config) : config_(config) {}

  StepScalars scalars(int64_t step) const override;
  // "m", "v", and of each side that is scaled the statistics and the root: "left", "left_root", "right", "right_root".
  // Throws `shape_mismatch` when the parameter isn't a matrix, or has no side of at most max_dim.
  std::vector<ParamInfo> describe(const ParamInfo& param) const override;
  Nest init(const ParamInfo& param, const Tensor& value) const override;
  std::pair<Tensor, Nest> update(const OptimizerArgs& args) const override;

 private:
  // Whether rows (0) or columns (1) are scaled.
  bool scales(const ParamInfo& param, size_t side) const;

  Config config_;
};

}  // namespace tenon
