// Muon: momentum whose update is made orthogonal.
#pragma once

#include "tenon/optim/optimizer.h"

namespace tenon {

// Jordan et al. 2024 ("Muon: an optimizer for hidden layers in neural networks"), with decoupled weight decay and the
// scale of Liu et al. 2025 ("Muon is scalable for LLM training", section 2.2), under which learning rate and weight
// decay mean what they mean to AdamW:
//   m = momentum m + (1 - momentum) g        u = (1 - momentum) g + momentum m, or m without nesterov
//   p = p - lr (weight_decay decay_scale p + 0.2 sqrt(max(rows, columns)) orthogonal(u))
// For the matrices of hidden layers; OptimizerByPath gives the rest to another optimizer. A stack's layers are matrices
// of their own.
class Muon final : public Optimizer {
 public:
  struct Config : Optimizer::Config {
    double momentum = 0.95;
    bool nesterov = true;
    double weight_decay = 0.1;
    // Of the Newton-Schulz iteration.
    int64_t num_iterations = 5;
    DType iteration_dtype = DType::bf16;
    void check(Checker& c) const;
    TENON_CONFIG(momentum, nesterov, weight_decay, num_iterations, iteration_dtype)
  };
  explicit Muon(const Config& config) : config_(config) {}

  StepScalars scalars(int64_t step) const override;
  // Throws `shape_mismatch` when the parameter isn't a matrix.
  std::vector<ParamInfo> describe(const ParamInfo& param) const override;
  Nest init(const ParamInfo& param, const Tensor& value) const override;
  std::pair<Tensor, Nest> update(const OptimizerArgs& args) const override;

 private:
  Config config_;
};

// [..., M, N] f32: each matrix with its singular values brought near 1 (between about 0.7 and 1.2 after 5 iterations,
// unless they are tiny beside the largest): the quintic Newton-Schulz iteration
//   X <- a X + (b A + c A A) X,  A = X X^T,  (a, b, c) = (3.4445, -4.7750, 2.0315), from X / |X|.
// A matrix of zeros stays one.
Tensor orthogonalize(const Tensor& x, int64_t num_iterations, DType iteration_dtype);

}  // namespace tenon
