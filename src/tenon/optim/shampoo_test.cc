#include "tenon/optim/shampoo.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/testing/evaluate.h"
#include "tenon/optim/adamw.h"

namespace tenon {
namespace {

using Matrix = std::array<double, 4>;  // 2 x 2, row-major

// rotation(a) diag(s, t) rotation(-b)
Matrix from_singular_values(double a, double b, double s, double t) {
  const Matrix u{std::cos(a), -std::sin(a), std::sin(a), std::cos(a)};
  const Matrix v{std::cos(b), std::sin(b), -std::sin(b), std::cos(b)};
  Matrix out{};
  for (size_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < 2; ++j) out[i * 2 + j] = u[i * 2] * s * v[j] + u[i * 2 + 1] * t * v[2 + j];
  }
  return out;
}

Literal literal(const Matrix& m) { return Literal::from(DType::f64, {2, 2}, std::vector<double>(m.begin(), m.end())); }

ParamInfo matrix_info(const Dims& shape = {2, 2}) {
  ParamInfo info;
  info.path = "up.weight";
  info.shape = shape;
  return info;
}

// Value and state after updates with these gradients at learning rate `lr`.
Values run(const Optimizer& optimizer, const Literal& start, const std::vector<Literal>& grads, double lr) {
  const ParamInfo info = matrix_info(start.dims());
  Values state = evaluate({{"value", start}}, {}, [&](const Nest& s, const Nest&) {
    Nest out = optimizer.init(info, s.at("value"));
    out.emplace("value", s.at("value"));
    return out;
  });
  for (size_t step = 0; step < grads.size(); ++step) {
    const auto scalar = [](double v) { return Literal::scalar(DType::f64, v); };
    const Values in{{"grad", grads[step]},
                    {"num_updates", scalar(static_cast<double>(step) + 1)},
                    {"learning_rate", scalar(lr)},
                    {"weight_decay", scalar(optimizer.scalars(0).at("weight_decay"))}};
    state = evaluate(state, in, [&](const Nest& s, const Nest& inputs) {
      Nest own = s;
      own.erase("value");
      auto [next, after] = optimizer.update(
          {info, s.at("value"), inputs.at("grad"), own, inputs, inputs.at("num_updates"), full({DType::i1, {}}, 1)});
      after.emplace("value", next);
      return after;
    });
  }
  return state;
}

void expect_near(const Literal& got, const Matrix& want, double tolerance) {
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(got.to_doubles().at(i), want[i], tolerance) << i;
}

// Gradients of one pair of rotations: all that is made of them is in closed form.
TEST(Shampoo, UpdatesAsWritten) {
  const double a = 0.7, b = -1.1, lr = 0.02, decay = 0.3, ridge = 1e-3, b1 = 0.6, b2 = 0.8;
  const std::array<std::array<double, 2>, 3> singular{{{2, 0.1}, {-1, 0.4}, {0.5, 3}}};
  Shampoo::Config config;
  config.b1 = b1;
  config.b2 = b2;
  config.weight_decay = decay;
  config.ridge = ridge;
  config.root_every = 2;
  AdamW::Config adam;
  adam.b1 = b1;
  adam.b2 = b2;
  adam.weight_decay = 0;
  std::array<double, 2> m{}, square{}, root{};
  std::vector<Literal> grads;
  Literal value = literal({1, -2, 3, 0.5});
  for (size_t step = 0; step < singular.size(); ++step) {
    const Values adam_before = run(AdamW(adam), literal({}), grads, 1);
    grads.push_back(literal(from_singular_values(a, b, singular[step][0], singular[step][1])));
    for (size_t i = 0; i < 2; ++i) {
      m[i] = b1 * m[i] + (1 - b1) * singular[step][i];
      square[i] = b2 * square[i] + (1 - b2) * singular[step][i] * singular[step][i];
    }
    if (step % 2 == 0) {  // both sides' roots act on the same singular values
      for (size_t i = 0; i < 2; ++i) root[i] = std::pow(square[i] / std::hypot(square[0], square[1]) + ridge, -0.5);
    }
    const Values adam_after = run(AdamW(adam), literal({}), grads, 1);
    double adam_square = 0;
    for (size_t i = 0; i < 4; ++i) {
      const double direction = adam_before.at("value").to_doubles()[i] - adam_after.at("value").to_doubles()[i];
      adam_square += direction * direction;
    }
    const double scale = std::sqrt(adam_square) / std::hypot(m[0] * root[0], m[1] * root[1]);
    const Matrix direction = from_singular_values(a, b, scale * m[0] * root[0], scale * m[1] * root[1]);
    Matrix want{};
    for (size_t i = 0; i < 4; ++i) {
      const double before = value.to_doubles()[i];
      want[i] = before - lr * (decay * before + direction[i]);
    }
    const Values got = run(Shampoo(config), literal({1, -2, 3, 0.5}), grads, lr);
    expect_near(got.at("value"), want, 1e-9);
    expect_near(got.at("left"), from_singular_values(a, a, square[0], square[1]), 1e-12);
    expect_near(got.at("right"), from_singular_values(b, b, square[0], square[1]), 1e-12);
    value = got.at("value");
  }
}

// One side alone: the direction is R^(-1/2) times the momentum, whose two sides' fourth roots would give the same.
TEST(Shampoo, OneSideHasItsSquareRoot) {
  Shampoo::Config both, one;
  both.ridge = one.ridge = 1e-5;
  one.max_dim = 2;
  const Literal start(TensorType{DType::f64, {2, 3}});
  const Literal grad = Literal::from(DType::f64, {2, 3}, std::vector<double>{1, -2, 0.5, 0.3, 4, -1});
  const Values got = run(Shampoo(one), start, {grad}, 0.1), want = run(Shampoo(both), start, {grad}, 0.1);
  EXPECT_EQ(difference(got.at("value"), want.at("value"), 1e-3), "");
  EXPECT_FALSE(got.contains("right"));
  EXPECT_TRUE(want.contains("right"));
}

// Where rows differ by far in scale in a rotated basis, which Adam can't see: 0.5 |A x|^2 for each column x.
TEST(Shampoo, SolvesWhatIsIllConditionedFasterThanAdam) {
  const Matrix hessian = from_singular_values(0.7, 0.7, 1, 1e-3);
  const auto loss_after = [&](const Optimizer& optimizer) {
    const ParamInfo info = matrix_info();
    Values state = evaluate({{"value", literal({1, -2, 0.5, 1.5})}}, {}, [&](const Nest& s, const Nest&) {
      Nest out = optimizer.init(info, s.at("value"));
      out.emplace("value", s.at("value"));
      return out;
    });
    constexpr int kSteps = 100;
    for (int step = 0; step < kSteps; ++step) {
      const auto scalar = [](double v) { return Literal::scalar(DType::f64, v); };
      const Values in{{"hessian", literal(hessian)},
                      {"num_updates", scalar(step + 1)},
                      {"learning_rate", scalar(0.3 * (1 - static_cast<double>(step) / kSteps))},
                      {"weight_decay", scalar(0)}};
      state = evaluate(state, in, [&](const Nest& s, const Nest& inputs) {
        Nest own = s;
        own.erase("value");
        auto [next, after] = optimizer.update({info, s.at("value"), matmul(inputs.at("hessian"), s.at("value")), own,
                                               inputs, inputs.at("num_updates"), full({DType::i1, {}}, 1)});
        after.emplace("value", next);
        return after;
      });
    }
    const std::vector<double> x = state.at("value").to_doubles();
    double loss = 0;
    for (size_t i = 0; i < 2; ++i) {
      for (size_t j = 0; j < 2; ++j) {
        for (size_t k = 0; k < 2; ++k) loss += 0.5 * x[i * 2 + k] * hessian[i * 2 + j] * x[j * 2 + k];
      }
    }
    return loss;
  };
  Shampoo::Config shampoo;
  shampoo.root_every = 1;
  shampoo.ridge = 1e-6;
  EXPECT_LT(loss_after(Shampoo(shampoo)), 0.1 * loss_after(AdamW({})));
}

TEST(Shampoo, RefusesWhatItCannotScale) {
  const auto vector = error_of([] { Shampoo({}).describe(matrix_info({3})); });
  ASSERT_TRUE(vector);
  EXPECT_EQ(vector->code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(vector->path(), "up.weight");
  EXPECT_NE(vector->hint().find("OptimizerByPath"), std::string::npos);
  Shampoo::Config config;
  config.max_dim = 4;
  EXPECT_TRUE(error_of([&] { Shampoo(config).describe(matrix_info({5, 6})); }));
  EXPECT_FALSE(error_of([&] { Shampoo(config).describe(matrix_info({5, 4})); }));
}

TEST(Shampoo, ItsSquaresAreSplitAlongRowsByAllAxes) {
  ParamInfo info = matrix_info({6, 8});
  info.stack = 4;
  info.partition = {"pipeline", "fsdp", "model"};
  const std::vector<ParamInfo> state = Shampoo({}).describe(info);
  ASSERT_EQ(state.size(), 6U);
  const std::array<const char*, 6> names{"m", "v", "left", "left_root", "right", "right_root"};
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(state[i].path, names[i]);
    EXPECT_EQ(state[i].stack, 4);
    if (i < 2) continue;
    EXPECT_EQ(state[i].shape, i < 4 ? (Dims{6, 6}) : (Dims{8, 8}));
    const PartitionSpec rows =
        i < 4 ? PartitionSpec{"pipeline", {"fsdp", "model"}} : PartitionSpec{"pipeline", {"model", "fsdp"}};
    EXPECT_EQ(state[i].partition, rows);
  }
  info.partition = {};
  EXPECT_EQ(Shampoo({}).describe(info)[2].partition, PartitionSpec({Axis(), Axis()}));
}

}  // namespace
}  // namespace tenon
