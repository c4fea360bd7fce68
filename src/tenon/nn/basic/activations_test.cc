// Activations against the C++ library's functions, and their gradients against central differences.
#include "tenon/nn/basic/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "tenon/ir/ops.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {
namespace {

double logistic_of(double x) { return 1 / (1 + std::exp(-x)); }
double positive(double x) { return x > 0 ? x : 0; }

struct Case {
  const char* name;
  Activation activation;
  std::function<double(double)> want;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"Silu", Silu{}, [](double x) { return x * logistic_of(x); }},
      {"Gelu", Gelu{}, [](double x) { return x * 0.5 * std::erfc(-x / std::numbers::sqrt2); }},
      {"GeluTanh", GeluTanh{},
       [](double x) { return x * logistic_of(2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * std::pow(x, 3))); }},
      {"QuickGelu", QuickGelu{}, [](double x) { return x * logistic_of(1.702 * x); }},
      {"Relu", Relu{}, positive},
      {"SquaredRelu", SquaredRelu{}, [](double x) { return positive(x) * positive(x); }},
      {"Logistic", Logistic{}, logistic_of},
      {"Tanh", Tanh{}, [](double x) { return std::tanh(x); }},
      {"Identity", Identity{}, [](double x) { return x; }}};
  return all;
}

TEST(Activations, ValuesAndGradients) {
  const std::vector<double> points{-6, -1.3, -0.2, 0.15, 0.9, 5};
  const Values inputs{{"x", Literal::from(DType::f64, {6}, points)}};
  for (const Case& c : cases()) {
    const Values got = evaluate({}, inputs, [&](const Nest&, const Nest& in) {
      const Tensor slope = grad([&](const Tensor& x) { return sum_all(c.activation(x)); }, in.at("x"));
      return Nest{{"y", c.activation(in.at("x"))}, {"slope", slope}};
    });
    for (size_t i = 0; i < points.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      EXPECT_NEAR(got.at("y").as_double(at), c.want(points[i]), 1e-12) << c.name << " at " << points[i];
      const double slope = (c.want(points[i] + 1e-5) - c.want(points[i] - 1e-5)) / 2e-5;
      EXPECT_NEAR(got.at("slope").as_double(at), slope, 1e-8) << c.name << " at " << points[i];
    }
  }
}

TEST(Activations, KeepTheDtypeAndNan) {
  const Values inputs{{"x", Literal::from(DType::bf16, {2}, std::vector<double>{0.5, std::nan("")})}};
  for (const Case& c : cases()) {
    const Literal y =
        evaluate({}, inputs, [&](const Nest&, const Nest& in) { return Nest{{"", c.activation(in.at("x"))}}; }).at("");
    EXPECT_EQ(y.dtype(), DType::bf16) << c.name;
    EXPECT_NEAR(y.as_double(0), c.want(0.5), 4e-3) << c.name;
    EXPECT_TRUE(std::isnan(y.as_double(1))) << c.name;
  }
}

}  // namespace
}  // namespace tenon
