// Functions of one tensor, elementwise. Computed in f32 at least: rounding after each step costs more than it saves.
#pragma once

#include "tenon/config/config.h"
#include "tenon/ir/tensor.h"

namespace tenon {

using Activation = Fn<Tensor(const Tensor&)>;

// x * logistic(x) (Elfwing et al. 2018; "swish").
struct Silu {
  TENON_FN()
  Tensor operator()(const Tensor& x) const;
};
// x * P(a standard normal is below x) (Hendrycks & Gimpel 2016).
struct Gelu {
  TENON_FN()
  Tensor operator()(const Tensor& x) const;
};
// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) (Hendrycks & Gimpel 2016): close to Gelu.
struct GeluTanh {
  TENON_FN()
  Tensor operator()(const Tensor& x) const;
};
// x * logistic(1.702 x) (Hendrycks & Gimpel 2016): near Gelu.
struct QuickGelu {
  TENON_FN()
  Tensor operator()(const Tensor& x) const;
};
// max(x, 0).
struct Relu {
  TENON_FN()
  Tensor operator()(const Tensor& x) const;
};
// max(x, 0)^2 (So et al. 2021).
struct SquaredRelu {
  TENON_FN()
  Tensor operator()(const Tensor& x) const;
};
// 1 / (1 + exp(-x)): with a gate, the gated linear unit (Dauphin et al. 2017).
struct Logistic {
  TENON_FN()
  Tensor operator()(const Tensor& x) const;
};
struct Tanh {
  TENON_FN()
  Tensor operator()(const Tensor& x) const;
};
// x itself: with a gate, the bilinear layer (Shazeer 2020, eq. 5).
struct Identity {
  TENON_FN()
  Tensor operator()(const Tensor& x) const;
};

}  // namespace tenon
