// Adafactor: second moments of matrices by their rows and columns.
#pragma once

#include <optional>
#include <utility>

#include "tenon/optim/optimizer.h"

namespace tenon {

// Shazeer & Stern 2018 ("Adafactor: adaptive learning rates with sublinear memory cost", algorithms 4 and 5). At update
// t, with b2 = 1 - t^-decay_exponent:
//   R = b2 R + (1 - b2) mean of g^2 along rows     C likewise along columns     V = R C / mean(R)
//   u = g / sqrt(V), divided by max(1, rms(u) / clip_rms)     m = b1 m + (1 - b1) u, where b1 > 0
//   p = p - lr (weight_decay decay_scale p + max(rms(p), min_scale) m), without that factor unless scale_by_parameter
// R and C are kept of the two largest dimensions, other dimensions apart, where both are at least min_factored_dim;
// elsewhere V is as large as the parameter. Root mean squares are of one layer each, over its logical elements.
// The paper adds eps to g^2. It is added to R, C and V instead, which is the same since b2 = 0 at the first update, and
// leaves padding zero.
class Adafactor final : public Optimizer {
 public:
  struct Config : Optimizer::Config {
    double decay_exponent = 0.8;
    double b1 = 0;
    double eps = 1e-30;
    // Infinity: any.
    double clip_rms = 1;
    int64_t min_factored_dim = 128;
    bool scale_by_parameter = true;
    double min_scale = 1e-3;
    double weight_decay = 0;
    void check(Checker& c) const;
    TENON_CONFIG(decay_exponent, b1, eps, clip_rms, min_factored_dim, scale_by_parameter, min_scale, weight_decay)
  };
  explicit Adafactor(const Config& config) : config_(config) {}

  // "weight_decay" and "clip_rms".
  StepScalars scalars(int64_t step) const override;
  // "v_row" (without the largest dimension) and "v_col" (without the next), or "v"; and "m" where b1 > 0.
  std::vector<ParamInfo> describe(const ParamInfo& param) const override;
  Nest init(const ParamInfo& param, const Tensor& value) const override;
  std::pair<Tensor, Nest> update(const OptimizerArgs& args) const override;

 private:
  // The two logical dimensions that are averaged over: the largest, and the next; of equals the later. None: V is
  // whole.
  struct Factors {
    int64_t largest = 0, second = 0;
  };
  std::optional<Factors> factors(const ParamInfo& param) const;
  // g / sqrt(V), and the next second moments.
  std::pair<Tensor, Nest> scaled_gradient(const OptimizerArgs& args) const;

  Config config_;
};

}  // namespace tenon
