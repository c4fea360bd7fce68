#include "tenon/nn/basic/activations.h"

#include <cmath>
#include <numbers>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"

namespace tenon {

using ActivationSignature = Tensor(const Tensor&);
TENON_FN_TYPE(Silu, ActivationSignature, "x * logistic(x)")
TENON_FN_TYPE(Gelu, ActivationSignature, "x * P(a standard normal is below x)")
TENON_FN_TYPE(GeluTanh, ActivationSignature, "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))")
TENON_FN_TYPE(QuickGelu, ActivationSignature, "x * logistic(1.702 x)")
TENON_FN_TYPE(Relu, ActivationSignature, "max(x, 0)")
TENON_FN_TYPE(SquaredRelu, ActivationSignature, "max(x, 0)^2")
TENON_FN_TYPE(Logistic, ActivationSignature, "1 / (1 + exp(-x))")
TENON_FN_TYPE(Tanh, ActivationSignature, "tanh(x)")
TENON_FN_TYPE(Identity, ActivationSignature, "x itself")

namespace {

template <class F>
Tensor in_wide(const Tensor& x, F f) {
  return convert(f(widen(x)), x.dtype());
}

// max(x, 0), whose gradient at 0 is 0. NaN stays NaN.
Tensor positive_part(const Tensor& x) { return select(less_equal(x, zeros_like(x)), zeros_like(x), x); }

}  // namespace

Tensor Silu::operator()(const Tensor& x) const {
  return in_wide(x, [](const Tensor& w) { return w * logistic(w); });
}
Tensor Gelu::operator()(const Tensor& x) const {
  return in_wide(x, [](const Tensor& w) { return w * 0.5 * (erf(w * std::sqrt(0.5)) + 1.0); });
}
Tensor GeluTanh::operator()(const Tensor& x) const {
  return in_wide(x, [](const Tensor& w) {
    const double slope = std::sqrt(2 / std::numbers::pi);
    return w * 0.5 * (tanh((w + w * w * w * 0.044715) * slope) + 1.0);
  });
}
Tensor QuickGelu::operator()(const Tensor& x) const {
  return in_wide(x, [](const Tensor& w) { return w * logistic(w * 1.702); });
}
Tensor Relu::operator()(const Tensor& x) const { return positive_part(x); }
Tensor SquaredRelu::operator()(const Tensor& x) const {
  return in_wide(x, [](const Tensor& w) {
    const Tensor positive = positive_part(w);
    return positive * positive;
  });
}
Tensor Logistic::operator()(const Tensor& x) const { return in_wide(x, logistic); }
Tensor Tanh::operator()(const Tensor& x) const {
  return in_wide(x, [](const Tensor& w) { return tanh(w); });
}
Tensor Identity::operator()(const Tensor& x) const { return x; }

}  // namespace tenon
