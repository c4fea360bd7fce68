#include "tenon/optim/muon.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

using Matrix = std::vector<double>;  // row-major

// Columns: the result of the iteration on one singular value, in f64.
double polynomial(double s, int64_t iterations) {
  for (int64_t i = 0; i < iterations; ++i) s = 3.4445 * s - 4.7750 * s * s * s + 2.0315 * s * s * s * s * s;
  return s;
}

// rotation(a) diag(s, t) [rotation(b) | 0], 2 x 3.
Matrix from_singular_values(double a, double b, double s, double t) {
  const std::array<double, 4> u{std::cos(a), -std::sin(a), std::sin(a), std::cos(a)};
  const std::array<double, 6> v{std::cos(b), std::sin(b), 0, -std::sin(b), std::cos(b), 0};
  Matrix out(6);
  for (size_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < 3; ++j) out[i * 3 + j] = u[i * 2] * s * v[j] + u[i * 2 + 1] * t * v[3 + j];
  }
  return out;
}

Matrix run_orthogonalize(const Dims& dims, const Matrix& x, int64_t iterations, DType dtype = DType::f32) {
  const Graph graph = make_graph(std::vector<TensorType>{{DType::f32, dims}}, [&](const std::vector<Tensor>& args) {
    return std::vector<Tensor>{orthogonalize(args[0], iterations, dtype)};
  });
  return interpret(graph, std::vector{Literal::from(DType::f32, dims, x)})[0].to_doubles();
}

Matrix transposed(const Matrix& x) { return {x[0], x[3], x[1], x[4], x[2], x[5]}; }

void expect_near(const Matrix& got, const Matrix& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

TEST(Muon, ActsOnSingularValuesAlone) {
  const double s = 3, t = 0.4, norm = std::hypot(s, t);
  const Matrix x = from_singular_values(0.3, 1.1, s, t);
  for (const int64_t n : {1, 5}) {
    const Matrix want = from_singular_values(0.3, 1.1, polynomial(s / norm, n), polynomial(t / norm, n));
    expect_near(run_orthogonalize({2, 3}, x, n), want, 1e-5);
    expect_near(run_orthogonalize({3, 2}, transposed(x), n), transposed(want), 1e-5);
    expect_near(run_orthogonalize({2, 3}, x, n, DType::bf16), want, 0.05);
  }
}

TEST(Muon, BringsThemNearOne) {
  for (const double t : {1.0, 0.3, 0.05}) {
    const double norm = std::hypot(1, t);
    for (const double s : {1 / norm, t / norm}) {
      EXPECT_GT(polynomial(s, 5), 0.6) << t;
      EXPECT_LT(polynomial(s, 5), 1.25) << t;
    }
  }
}

TEST(Muon, StackedMatricesAreApart) {
  const Matrix a = from_singular_values(0.3, 1.1, 3, 0.4), b = from_singular_values(2, -0.5, 1e-3, 1e-3);
  Matrix both = a;
  both.insert(both.end(), b.begin(), b.end());
  Matrix want = run_orthogonalize({2, 3}, a, 5);
  const Matrix second = run_orthogonalize({2, 3}, b, 5);
  want.insert(want.end(), second.begin(), second.end());
  expect_near(run_orthogonalize({2, 2, 3}, both, 5), want, 1e-6);
}

TEST(Muon, ZerosStayZeros) {
  expect_near(run_orthogonalize({2, 3}, Matrix(6, 0), 5), Matrix(6, 0), 0);
  const Matrix padded = run_orthogonalize({2, 3}, {1, 2, 0, 3, 4, 0}, 5);
  EXPECT_EQ(padded[2], 0);
  EXPECT_EQ(padded[5], 0);
}

ParamInfo matrix_info() {
  ParamInfo info;
  info.path = "up.weight";
  info.shape = {2, 3};
  info.decay_scale = 0.5;
  return info;
}

// One update: {value, momentum}.
std::vector<Literal> update(const Muon& muon, const ParamInfo& info, const Matrix& value, const Matrix& grad,
                            const Matrix& momentum, double learning_rate) {
  const TensorType matrix{DType::f32, {2, 3}}, scalar{DType::f32, {}};
  const Graph graph =
      make_graph(std::vector{matrix, matrix, matrix, scalar, scalar}, [&](const std::vector<Tensor>& t) {
        const auto [next, state] = muon.update({.param = info,
                                                .value = t[0],
                                                .grad = t[1],
                                                .state = {{"momentum", t[2]}},
                                                .scalars = {{"learning_rate", t[3]}, {"weight_decay", t[4]}},
                                                .num_updates = t[3]});
        return std::vector<Tensor>{next, state.at("momentum")};
      });
  const auto literal = [&](const Matrix& m) { return Literal::from(DType::f32, {2, 3}, m); };
  return interpret(
      graph, std::vector{literal(value), literal(grad), literal(momentum), Literal::scalar(DType::f32, learning_rate),
                         Literal::scalar(DType::f32, muon.scalars(0).at("weight_decay"))});
}

TEST(Muon, UpdatesAsWritten) {
  const double lr = 0.02, beta = 0.9, decay = 0.3;
  const Matrix p = from_singular_values(1, 2, 1, 0.5), g = from_singular_values(0.7, -1, 2, 1),
               m = from_singular_values(0.7, -1, 1, 3);  // the same rotations, so that sums stay in closed form
  for (const bool nesterov : {true, false}) {
    Muon::Config config;
    config.momentum = beta;
    config.nesterov = nesterov;
    config.weight_decay = decay;
    config.iteration_dtype = DType::f32;
    const std::vector<Literal> got = update(Muon(config), matrix_info(), p, g, m, lr);
    std::array<double, 2> mean{beta * 1 + (1 - beta) * 2, beta * 3 + (1 - beta) * 1}, u = mean;
    expect_near(got[1].to_doubles(), from_singular_values(0.7, -1, mean[0], mean[1]), 1e-6);
    if (nesterov) u = {(1 - beta) * 2 + beta * mean[0], (1 - beta) * 1 + beta * mean[1]};
    const double norm = std::hypot(u[0], u[1]);
    const Matrix direction = from_singular_values(0.7, -1, polynomial(u[0] / norm, 5), polynomial(u[1] / norm, 5));
    Matrix want(6);
    for (size_t i = 0; i < 6; ++i) {
      want[i] = p[i] - lr * (decay * 0.5 * p[i] + 0.2 * std::sqrt(3.0) * direction[i]);
    }
    expect_near(got[0].to_doubles(), want, 1e-5);
  }
}

TEST(Muon, RefusesWhatIsNoMatrix) {
  ParamInfo info = matrix_info();
  info.shape = {3};
  const auto e = error_of([&] { Muon({}).describe(info); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(e->path(), "up.weight");
  EXPECT_NE(e->hint().find("OptimizerByPath"), std::string::npos);
}

TEST(Muon, KeepsOneArraySplitAsItsParameter) {
  ParamInfo info = matrix_info();
  info.stack = 4;
  info.partition = {{}, "fsdp", "model"};
  const std::vector<ParamInfo> state = Muon({}).describe(info);
  ASSERT_EQ(state.size(), 1U);
  EXPECT_EQ(state[0].path, "momentum");
  EXPECT_EQ(state[0].stack, 4);
  EXPECT_EQ(state[0].partition, info.partition);
  EXPECT_FALSE(state[0].trainable);
}

}  // namespace
}  // namespace tenon
