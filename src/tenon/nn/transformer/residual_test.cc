#include "tenon/nn/transformer/residual.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/config/validate.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {
namespace {

// "prepared" of x and "merged" of x and a branch, both [rows, 8, 4] with numbers that differ.
Values run(const Residual& residual, int64_t rows, bool training, uint64_t seed = 1) {
  const auto number = [&](const char* name, double first) {
    std::vector<double> values;
    for (int64_t i = 0; i < rows * 32; ++i) values.push_back(first + std::sin(static_cast<double>(i)));
    return std::pair<const std::string, Literal>(name, Literal::from(DType::f32, {rows, 8, 4}, values));
  };
  return evaluate(
      initial_values(residual, 1), {number("x", 0.1), number("branch", 3)}, [&](const Nest& s, const Nest& in) {
        const Tensor key = make_key(seed);
        return Nest{
            {"prepared", functional(residual, &Residual::prepare, s, key, training, in.at("x")).result},
            {"merged", functional(residual, &Residual::merge, s, key, training, in.at("x"), in.at("branch")).result},
            {"x", in.at("x")},
            {"branch", in.at("branch")}};
      });
}

template <class R>
R made(typename R::Config config = {}) {
  config.input_dim = 4;
  return R(config);
}

// Row-wise x / sqrt(mean(x^2) + eps), the norm at its start.
double normed(const std::vector<double>& all, int64_t i) {
  double square = 0;
  for (int64_t j = i / 4 * 4; j < i / 4 * 4 + 4; ++j)
    square += all[static_cast<size_t>(j)] * all[static_cast<size_t>(j)];
  return all[static_cast<size_t>(i)] / std::sqrt(square / 4 + 1e-5);
}

TEST(Residual, WhereTheNormsGo) {
  const Values pre = run(made<PreNormResidual>(), 2, false), post = run(made<PostNormResidual>(), 2, false),
               hybrid = run(made<HybridNormResidual>(), 2, false);
  const std::vector<double> x = pre.at("x").to_doubles(), branch = pre.at("branch").to_doubles();
  std::vector<double> sum;
  for (size_t i = 0; i < x.size(); ++i) sum.push_back(x[i] + branch[i]);
  for (int64_t i = 0; i < 64; ++i) {
    const auto at = static_cast<size_t>(i);
    EXPECT_NEAR(pre.at("prepared").as_double(i), normed(x, i), 1e-6);
    EXPECT_NEAR(pre.at("merged").as_double(i), sum[at], 1e-6);
    EXPECT_EQ(post.at("prepared").as_double(i), x[at]);
    EXPECT_NEAR(post.at("merged").as_double(i), normed(sum, i), 1e-6);
    EXPECT_NEAR(hybrid.at("prepared").as_double(i), normed(x, i), 1e-6);
    EXPECT_NEAR(hybrid.at("merged").as_double(i), x[at] + normed(branch, i), 1e-6);
  }
}

TEST(Residual, DropoutKeepsTheMean) {
  DropoutResidual::Config config;
  config.rate = 0.25;
  const DropoutResidual residual = made<DropoutResidual>(config);
  const Values evaluated = run(residual, 64, false), trained = run(residual, 64, true);
  int64_t dropped = 0;
  for (int64_t i = 0; i < 64 * 32; ++i) {
    const double x = trained.at("x").as_double(i), branch = trained.at("branch").as_double(i);
    EXPECT_NEAR(evaluated.at("merged").as_double(i), x + branch, 1e-6);
    const double added = trained.at("merged").as_double(i) - x;
    dropped += std::fabs(added) < 1e-6;
    EXPECT_NEAR(added, std::fabs(added) < 1e-6 ? 0 : branch / 0.75, 1e-5);
  }
  EXPECT_NEAR(static_cast<double>(dropped) / (64 * 32), 0.25, 0.03);
  EXPECT_NE(run(residual, 64, true, 2).at("merged"), trained.at("merged"));
}

TEST(Residual, StochasticDepthDropsWholeRows) {
  StochasticDepthResidual::Config config;
  config.rate = 0.5;
  const Values trained = run(made<StochasticDepthResidual>(config), 64, true);
  int64_t dropped = 0;
  for (int64_t row = 0; row < 64; ++row) {
    const auto added = [&](int64_t i) { return trained.at("merged").as_double(i) - trained.at("x").as_double(i); };
    const bool gone = std::fabs(added(row * 32)) < 1e-6;
    dropped += gone;
    for (int64_t i = row * 32; i < row * 32 + 32; ++i) {
      EXPECT_NEAR(added(i), gone ? 0 : trained.at("branch").as_double(i) * 2, 1e-5) << row;
    }
  }
  EXPECT_GT(dropped, 20);
  EXPECT_LT(dropped, 44);
}

TEST(Residual, RatesAreChecked) {
  DropoutResidual::Config config;
  config.input_dim = 4;
  config.rate = 1;
  const auto error = error_of([&] { validate(config); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->path(), "rate");
}

}  // namespace
}  // namespace tenon
