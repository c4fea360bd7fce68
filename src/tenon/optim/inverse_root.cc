#include "tenon/optim/inverse_root.h"

#include <cmath>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"
#include "tenon/optim/matrices.h"

namespace tenon {
namespace {

// For a matrix of zeros; far below the norm of any gradient's statistics.
constexpr double kLeastNorm = 1e-30;

Tensor product(const Tensor& a, const Tensor& b) { return matmul(a, b, DotPrecision::full); }

// An eigenvalue far below 1 grows by ((p + 1) / p)^p in an iteration; from about 1 on the error squares itself.
int64_t iterations_for(double p, double ridge) {
  const double start = ridge * (1 + p) / 2, growth = p * std::log((p + 1) / p);
  return static_cast<int64_t>(std::ceil(-std::log(start) / growth)) + 6;
}

}  // namespace

Tensor inverse_root(const Tensor& a, int64_t p, double ridge) {
  const Tensor identity = identity_matrices(a.type()), norm = frobenius_norm_keep(a, kLeastNorm);
  const double exponent = static_cast<double>(p), z = (1 + exponent) / (2 * (1 + ridge));
  const Tensor scaled = a / broadcast_to(norm, a.dims()) + identity * ridge;
  using Pair = std::vector<Tensor>;
  const auto step = [&](const Tensor&, const Pair& at, const Pair&) {
    const Tensor t = (identity * (exponent + 1) - at[0]) / exponent, squared = product(t, t);
    const Tensor power = p == 2 ? squared : product(squared, squared);
    return std::pair<Pair, Pair>({product(power, at[0]), product(at[1], t)}, {});
  };
  const Pair start{scaled * z, identity * std::pow(z, 1 / exponent)};
  return scan(step, start, Pair{}, iterations_for(exponent, ridge)).first[1];
}

}  // namespace tenon
