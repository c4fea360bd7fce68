// Gradients of gradients: the derivative of a loss that holds a gradient, against central differences.
#include <gtest/gtest.h>

#include "tenon/autodiff/functional.h"
#include "tenon/autodiff/remat.h"
#include "tenon/autodiff/testing/check_gradients.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/ops/manual.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

// Small, so that the differences of the third order stay small.
Literal small_literal(std::mt19937& rng, const Dims& dims) {
  Literal out = random_literal(rng, dims);
  for (int64_t i = 0; i < out.size(); ++i) out.set(i, 0.3 * out.as_double(i));
  return out;
}

// Checks the gradient of sum_i sin(gradient_i of loss) by all parameters: every second derivative takes part.
void expect_second_order(const LossFn& loss, const std::vector<Literal>& args) {
  const LossFn outer = [&](const Tensors& p) {
    Tensor sum = zeros({DType::f64, {}});
    for (const Tensor& g : grad([&](const Tensors& q) { return loss(q); }, p)) sum = sum + sum_all(sin(g));
    return sum;
  };
  EXPECT_EQ(check_gradients(outer, args), "");
}

TEST(SecondOrder, Scan) {
  std::mt19937 rng(1);
  for (const bool reverse : {false, true}) {
    expect_second_order(
        [&](const Tensors& p) {
          const auto out = scan(
              [&](const Tensor& index, const Tensor& h, const Tensor& x) {
                const Tensor next = tanh(h * p[2] + x * (convert(index, DType::f64) + 1.0));
                return std::pair<Tensor, Tensor>(next, next * h);
              },
              p[0], p[1], {}, reverse);
          return sum_all(out.first * out.first) + sum_all(out.second * p[1]);
        },
        {small_literal(rng, {2}), small_literal(rng, {3, 2}), small_literal(rng, {2})});
  }
}

TEST(SecondOrder, NestedScansWithCaptures) {
  std::mt19937 rng(2);
  expect_second_order(
      [](const Tensors& p) {
        const auto outer = scan(
            [&](const Tensor&, const Tensor& h, const Tensor& row) {
              const Tensor between = sin(h * p[0]);
              const auto inner = scan(
                  [&](const Tensor&, const Tensor& g, const Tensor& x) {
                    return std::pair<Tensor, Tensor>(tanh(g * p[2] + x * between), g * between);
                  },
                  h, row);
              return std::pair<Tensor, Tensor>(inner.first + between, reduce_sum(inner.second, {0}));
            },
            p[0], p[1]);
        return sum_all(outer.first * outer.first) + sum_all(sin(outer.second));
      },
      {small_literal(rng, {2}), small_literal(rng, {2, 2, 2}), small_literal(rng, {2})});
}

TEST(SecondOrder, Cond) {
  std::mt19937 rng(3);
  for (const double sign : {1.0, -1.0}) {
    expect_second_order(
        [&](const Tensors& p) {
          const Tensor positive = greater(full({DType::f64, {}}, sign), zeros({DType::f64, {}}));
          const Tensors out =
              cond(positive, [&] { return Tensors{p[0] * p[0] * p[1]}; }, [&] { return Tensors{exp(p[1] * p[0])}; });
          return sum_all(out[0] * sin(out[0]));
        },
        {small_literal(rng, {3}), small_literal(rng, {3})});
  }
}

TEST(SecondOrder, CondInsideScanInsideCond) {
  std::mt19937 rng(4);
  expect_second_order(
      [](const Tensors& p) {
        const auto loop = [&] {
          return Tensors{scan(
                             [&](const Tensor& index, const Tensor& h, const Tensor& x) {
                               const Tensor early = less(index, full_like(index, 1));
                               const Tensors b = cond(
                                   early, [&] { return Tensors{sin(h) * p[0]}; }, [&] { return Tensors{h * x * x}; });
                               return std::pair<Tensor, Tensors>(b[0], {});
                             },
                             p[0], p[1])
                             .first};
        };
        const Tensor yes = less(zeros({DType::f64, {}}), full({DType::f64, {}}, 1));
        const Tensor out = cond(yes, loop, [&] { return Tensors{p[0]}; })[0];
        return sum_all(out * out);
      },
      {small_literal(rng, {2}), small_literal(rng, {3, 2})});
}

TEST(SecondOrder, UnderEveryPolicy) {
  std::mt19937 rng(5);
  const std::vector<Literal> args{small_literal(rng, {2, 2}), small_literal(rng, {3, 2, 2})};
  for (const RematPolicy& policy :
       {RematPolicy(SaveNothing{}), RematPolicy(SaveEverything{}), RematPolicy(SaveDots{}), RematPolicy()}) {
    expect_second_order(
        [&](const Tensors& p) {
          const auto out = scan(
              [&](const Tensor&, const Tensor& h, const Tensor& w) {
                const RematScope scope(policy);
                return std::pair<Tensor, Tensors>(h + tanh(matmul(sin(h), w)), {});
              },
              p[0], p[1]);
          return sum_all(out.first * out.first);
        },
        args);
  }
}

// The devices along the other axis belong to the partitioner.
TEST(SecondOrder, ManualOverSomeOfTheAxes) {
  std::mt19937 rng(7);
  const Mesh mesh{{"data", 2}, {"model", 2}};
  const PartitionSpec rows{"data"}, whole{};
  const std::vector<Literal> args{small_literal(rng, {4, 3}), small_literal(rng, {1, 3})};
  const LossFn loss = [&](const Tensors& p) {
    const auto body = [](const Tensors& x) {
      const Tensor h = tanh(x[0] * broadcast_to(x[1], x[0].dims()));
      const Tensor sum = all_reduce_sum(expand_dims(reduce_sum(h * h, {0}), 0), "data");
      return Tensors{sin(h) * broadcast_to(sum, h.dims()), sum};
    };
    const Tensors out = manual(mesh, p, {rows, whole}, {rows, whole}, body, {"data"});
    return sum_all(out[0] * p[0]) + sum_all(exp(out[1]));
  };
  expect_second_order(loss, args);
  // The same without devices.
  const LossFn plain = [](const Tensors& p) {
    const Tensor h = tanh(p[0] * broadcast_to(p[1], p[0].dims()));
    const Tensor sum = expand_dims(reduce_sum(h * h, {0}), 0);
    return sum_all(sin(h) * broadcast_to(sum, h.dims()) * p[0]) + sum_all(exp(sum));
  };
  const auto second = [&](const LossFn& f) {
    const LossFn outer = [&](const Tensors& p) {
      const Tensors g = grad([&](const Tensors& q) { return f(q); }, p);
      return sum_all(g[0] * g[0]) + sum_all(g[1] * g[1]);
    };
    return interpret(gradient_graph(outer, args), args);
  };
  const std::vector<Literal> got = second(loss), expected = second(plain);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    for (int64_t k = 0; k < got[i].size(); ++k) EXPECT_NEAR(got[i].as_double(k), expected[i].as_double(k), 1e-12);
  }
}

TEST(SecondOrder, ThirdDerivative) {
  std::mt19937 rng(6);
  expect_second_order(
      [](const Tensors& p) {
        const Tensor g = grad([](const Tensor& x) { return sum_all(exp(x) * x * x); }, p[0]);
        return sum_all(g * g);
      },
      {small_literal(rng, {3})});
}

}  // namespace
}  // namespace tenon
