#include "tenon/optim/inverse_root.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"

namespace tenon {
namespace {

using Matrix = std::vector<double>;  // square, row-major

Matrix product(const Matrix& a, const Matrix& b, size_t n) {
  Matrix out(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t k = 0; k < n; ++k) out[i * n + j] += a[i * n + k] * b[k * n + j];
    }
  }
  return out;
}

// Q diag(values) Q, Q the reflection at a vector without a zero: symmetric, with these eigenvalues.
Matrix with_eigenvalues(const Matrix& values) {
  const size_t n = values.size();
  Matrix v(n), q(n * n), scaled(n * n);
  double square = 0;
  for (size_t i = 0; i < n; ++i) square += std::pow(v[i] = std::cos(1.3 * static_cast<double>(i)) + 0.2, 2);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      q[i * n + j] = (i == j ? 1 : 0) - 2 * v[i] * v[j] / square;
      scaled[i * n + j] = values[i] * q[i * n + j];
    }
  }
  return product(q, scaled, n);
}

double norm_of(const Matrix& values) {
  double square = 0;
  for (const double v : values) square += v * v;
  return std::sqrt(square);
}

Literal root_of(const Literal& a, int64_t p, double ridge) {
  const Graph graph = make_graph(std::vector{a.type()}, [&](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{inverse_root(x[0], p, ridge)};
  });
  return interpret(graph, std::vector{a})[0];
}

// 1e-9 of the largest is below what f32 tells from its rounding, and below the ridge.
const std::vector<Matrix> kSpectra{
    {1, 1, 1}, {3e-3, 2, 700, 40, 1e-9}, {1e-12, 5e-12, 1e-15, 2e-13}, {1, 0, 0, 0, 0, 0}};

TEST(InverseRoot, OfKnownEigenvalues) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Matrix& values : kSpectra) {
      const auto n = static_cast<int64_t>(values.size());
      for (const int64_t p : {2, 4}) {
        for (const double ridge : {1e-6, 1e-3}) {
          Matrix roots = values;
          for (double& v : roots) v = std::pow(v / norm_of(values) + ridge, -1.0 / static_cast<double>(p));
          const Matrix want = with_eigenvalues(roots);
          const Matrix got = root_of(Literal::from(dtype, {n, n}, with_eigenvalues(values)), p, ridge).to_doubles();
          const double tolerance = norm_of(want) * (dtype == DType::f64 ? 1e-9 : ridge < 1e-4 ? 0.01 : 1e-4);
          for (size_t i = 0; i < got.size(); ++i) {
            EXPECT_NEAR(got[i], want[i], tolerance)
                << to_string(dtype) << " p " << p << " ridge " << ridge << " at " << i;
          }
        }
      }
    }
  }
}

TEST(InverseRoot, OfZerosIsAMultipleOfTheIdentity) {
  const Matrix got = root_of(Literal(TensorType{DType::f32, {2, 2}}), 4, 1e-6).to_doubles();
  EXPECT_NEAR(got[0], std::pow(1e-6, -0.25), 0.01);
  EXPECT_EQ(got[1], 0);
  EXPECT_EQ(got[2], 0);
  EXPECT_EQ(got[3], got[0]);
}

TEST(InverseRoot, WhatIsNotANumberStaysSo) {
  const Matrix got =
      root_of(Literal::from(DType::f32, {2, 2}, Matrix{1, std::nan(""), std::nan(""), 1}), 4, 1e-6).to_doubles();
  for (const double v : got) EXPECT_TRUE(std::isnan(v));
}

TEST(InverseRoot, StackedMatricesAreApart) {
  const Matrix a = with_eigenvalues({1, 2, 3}), b = with_eigenvalues({1e-7, 5e-6, 2e-5});
  Matrix both = a;
  both.insert(both.end(), b.begin(), b.end());
  const auto root = [](const Dims& dims, const Matrix& x) {
    return root_of(Literal::from(DType::f64, dims, x), 4, 1e-4).to_doubles();
  };
  Matrix want = root({3, 3}, a);
  const Matrix second = root({3, 3}, b);
  want.insert(want.end(), second.begin(), second.end());
  const Matrix got = root({2, 3, 3}, both);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << i;
}

}  // namespace
}  // namespace tenon
