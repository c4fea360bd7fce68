#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tenon/autodiff/functional.h"
#include "tenon/autodiff/testing/check_gradients.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"

namespace tenon {
namespace {

void expect_gradients(const LossFn& loss, const std::vector<Literal>& args) {
  EXPECT_EQ(check_gradients(loss, args), "");
}

TEST(Grad, Perceptron) {
  std::mt19937 rng(1);
  expect_gradients(
      [](const std::vector<Tensor>& p) {
        const Tensor h = tanh(matmul(p[0], p[1]) + p[2]);
        return sum_all(h * h);
      },
      {random_literal(rng, {3, 4}), random_literal(rng, {4, 2}), random_literal(rng, {2})});
}

// A carried state, stacked inputs and outputs, a captured value, and the index.
Tensor recurrent_loss(const std::vector<Tensor>& p) {
  const auto [last, ys] = scan(
      [&](const Tensor& index, const Tensor& h, const Tensor& x) {
        const Tensor position = convert(index, DType::f64);
        const Tensor next = tanh(matmul(h, p[2]) + x * (position + 1.0));
        return std::pair<Tensor, Tensor>(next, logistic(next * next));
      },
      p[0], p[1]);
  return sum_all(last * last) + sum_all(ys * ys * ys);
}

TEST(Grad, Scan) {
  std::mt19937 rng(2);
  expect_gradients(recurrent_loss,
                   {random_literal(rng, {2, 3}), random_literal(rng, {4, 2, 3}), random_literal(rng, {3, 3})});
}

TEST(Grad, ScanInReverse) {
  std::mt19937 rng(3);
  expect_gradients(
      [](const std::vector<Tensor>& p) {
        const auto out = scan([](const Tensor&, const Tensor& h,
                                 const Tensor& x) { return std::pair<Tensor, Tensor>(h * x + sin(h), h * h); },
                              p[0], p[1], {}, true);
        return sum_all(out.first) + sum_all(out.second * p[1]);
      },
      {random_literal(rng, {2}), random_literal(rng, {3, 2})});
}

TEST(Grad, NestedScan) {
  std::mt19937 rng(4);
  expect_gradients(
      [](const std::vector<Tensor>& p) {
        const auto outer = scan(
            [&](const Tensor&, const Tensor& h, const Tensor& row) {
              const auto inner = scan(
                  [&](const Tensor&, const Tensor& g, const Tensor& x) {
                    return std::pair<Tensor, std::vector<Tensor>>(tanh(g * p[2] + x * h), {});
                  },
                  h, row);
              return std::pair<Tensor, Tensor>(inner.first, h);
            },
            p[0], p[1]);
        return sum_all(outer.first * outer.first) + sum_all(sin(outer.second));
      },
      {random_literal(rng, {2}), random_literal(rng, {3, 2, 2}), random_literal(rng, {2})});
}

TEST(Grad, Cond) {
  std::mt19937 rng(5);
  for (const double sign : {1.0, -1.0}) {
    expect_gradients(
        [&](const std::vector<Tensor>& p) {
          const Tensor positive = greater(full({DType::f64, {}}, sign), zeros({DType::f64, {}}));
          const auto out = cond(
              positive, [&] { return std::vector<Tensor>{p[0] * p[1]}; },
              [&] { return std::vector<Tensor>{exp(p[1])}; });
          return sum_all(out[0]);
        },
        {random_literal(rng, {3}), random_literal(rng, {3})});
  }
}

TEST(Grad, OfGradient) {
  std::mt19937 rng(6);
  expect_gradients(
      [](const std::vector<Tensor>& p) {
        const Tensor g = grad([](const Tensor& x) { return sum_all(x * x * x + sin(x)); }, p[0]);
        return sum_all(g * g);
      },
      {random_literal(rng, {3})});
}

TEST(Grad, SharedAndUnusedParameters) {
  std::mt19937 rng(7);
  expect_gradients([](const std::vector<Tensor>& p) { return sum_all(p[0] * p[0] + exp(p[0])); },
                   {random_literal(rng, {3}), random_literal(rng, {2})});
}

TEST(Grad, IntegersGetNone) {
  const Graph g =
      make_graph(std::vector<TensorType>{{DType::f64, {2}}, {DType::i32, {2}}}, [](const std::vector<Tensor>& p) {
        const auto both = value_and_grad(
            [](const std::vector<Tensor>& q) {
              return std::pair<Tensor, std::vector<Tensor>>(sum_all(q[0] * convert(q[1], DType::f64)), {});
            },
            p);
        EXPECT_FALSE(both.grads[1]);
        return std::vector<Tensor>{both.grads[0]};
      });
  EXPECT_EQ(g.result_types()[0], (TensorType{DType::f64, {2}}));
}

TEST(Grad, ErrorsNameTheOp) {
  const auto build = [](const LossFn& loss) {
    make_graph(std::vector<TensorType>{{DType::f32, {2}}}, [&](const std::vector<Tensor>& p) {
      current_trace().set_path("decoder.ffn");
      return std::vector<Tensor>{grad([&](const Tensor& x) { return loss({x}); }, p[0])};
    });
  };
  try {
    build([](const std::vector<Tensor>& p) { return reduce_prod(p[0], {0}); });
    FAIL() << "reduce_prod has no gradient";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_differentiable);
    EXPECT_EQ(e.path(), "decoder.ffn");
    EXPECT_NE(std::string(e.what()).find("'reduce_prod'"), std::string::npos);
  }
  try {
    build([](const std::vector<Tensor>& p) { return p[0]; });
    FAIL() << "not a scalar";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::shape_mismatch);
  }
}

TEST(Grad, AuxPassesThrough) {
  const std::vector<TensorType> types{{DType::f64, {2}}};
  const Graph g = make_graph(types, [](const std::vector<Tensor>& p) {
    const auto both = value_and_grad(
        [](const Tensor& x) {
          // What has no gradient may be in aux; integers and empty tensors too.
          std::map<std::string, Tensor> aux{{"sorted", sort(x, 0)}, {"place", argmax(x, 0)}, {"nothing", Tensor()}};
          return std::pair(sum_all(x * x), std::pair(aux, std::vector<Tensor>{exp(x)}));
        },
        p[0]);
    EXPECT_FALSE(both.aux.first.at("nothing"));
    return std::vector<Tensor>{both.value, both.grads, both.aux.first.at("sorted"), both.aux.first.at("place"),
                               both.aux.second.at(0)};
  });
  const std::vector<Literal> got =
      interpret(g, std::vector{Literal::from(DType::f64, {2}, std::vector<double>{3, -1})});
  EXPECT_EQ(got[0].as_double(0), 10);
  EXPECT_EQ(got[1].to_doubles(), (std::vector<double>{6, -2}));
  EXPECT_EQ(got[2].to_doubles(), (std::vector<double>{-1, 3}));
  EXPECT_EQ(got[3].as_int(0), 0);
  EXPECT_EQ(got[4].to_doubles(), (std::vector<double>{std::exp(3.0), std::exp(-1.0)}));
}

// A gradient through what an inner value_and_grad gave as aux.
TEST(Grad, ThroughAux) {
  std::mt19937 rng(10);
  expect_gradients(
      [](const std::vector<Tensor>& p) {
        const auto inner = value_and_grad([](const Tensor& x) { return std::pair(sum_all(sin(x)), x * x); }, p[0]);
        return sum_all(inner.aux * inner.grads) + inner.value;
      },
      {random_literal(rng, {3})});
}

TEST(Grad, PulledTwiceAndWithMissingCotangents) {
  const std::vector<TensorType> types{{DType::f64, {2}}};
  const Graph g = make_graph(types, [](const std::vector<Tensor>& p) {
    const Vjp both =
        vjp([](const std::vector<Tensor>& x) { return std::vector<Tensor>{x[0] * x[0], x[0] * 3.0}; }, p, {true});
    const Tensor one = full({DType::f64, {2}}, 1);
    return std::vector<Tensor>{both.pull({one, Tensor()})[0], both.pull({Tensor(), one})[0], both.pull({one, one})[0]};
  });
  const std::vector<Literal> got =
      interpret(g, std::vector{Literal::from(DType::f64, {2}, std::vector<double>{3, -1})});
  EXPECT_EQ(got[0].to_doubles(), (std::vector<double>{6, -2}));
  EXPECT_EQ(got[1].to_doubles(), (std::vector<double>{3, 3}));
  EXPECT_EQ(got[2].to_doubles(), (std::vector<double>{9, 1}));
}

TEST(Grad, WhatIsNotActiveHasNone) {
  const std::vector<TensorType> types{{DType::f64, {2}}, {DType::f64, {2}}};
  const Graph g = make_graph(types, [](const std::vector<Tensor>& p) {
    const Vjp product =
        vjp([](const std::vector<Tensor>& x) { return std::vector<Tensor>{x[0] * x[1]}; }, p, {true, false});
    const std::vector<Tensor> grads = product.pull({full({DType::f64, {2}}, 1)});
    EXPECT_FALSE(grads[1]);
    return std::vector<Tensor>{grads[0]};
  });
  const std::vector<Literal> args(2, Literal::from(DType::f64, {2}, std::vector<double>{3, -1}));
  EXPECT_EQ(interpret(g, args)[0].to_doubles(), (std::vector<double>{3, -1}));
}

}  // namespace
}  // namespace tenon
