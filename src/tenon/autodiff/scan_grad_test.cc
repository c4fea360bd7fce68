// Scans whose derivatives have something unusual about them.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/autodiff/functional.h"
#include "tenon/autodiff/testing/check_gradients.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

void expect_gradients(const LossFn& loss, const std::vector<Literal>& args) {
  EXPECT_EQ(check_gradients(loss, args), "");
}

TEST(ScanGrad, CapturesOnly) {
  std::mt19937 rng(1);
  expect_gradients(
      [](const Tensors& p) {
        const auto out =
            scan([&](const Tensor& index, const Tensors&,
                     const Tensors&) { return std::pair<Tensors, Tensor>({}, sin(p[0] * convert(index, DType::f64))); },
                 Tensors{}, Tensors{}, 4);
        return sum_all(out.second * out.second);
      },
      {random_literal(rng, {3})});
}

TEST(ScanGrad, ZeroLength) {
  std::mt19937 rng(2);
  expect_gradients(
      [](const Tensors& p) {
        const auto out = scan(
            [&](const Tensor&, const Tensor& h, const Tensor& x) { return std::pair<Tensor, Tensor>(h * x * p[1], h); },
            p[0], zeros({DType::f64, {0, 2}}));
        return sum_all(out.first * out.first) + sum_all(out.second);
      },
      {random_literal(rng, {2}), random_literal(rng, {2})});
}

TEST(ScanGrad, IntegerCarryBesideAFloat) {
  std::mt19937 rng(3);
  expect_gradients(
      [](const Tensors& p) {
        const std::pair<Tensor, Tensor> init(zeros({DType::i32, {}}), p[0]);
        const auto out = scan(
            [](const Tensor&, const std::pair<Tensor, Tensor>& c, const Tensor& x) {
              const Tensor count = c.first + 2.0;
              return std::pair(std::pair(count, c.second * convert(count, DType::f64) + x), c.first);
            },
            init, p[1]);
        return sum_all(out.first.second * convert(out.first.first, DType::f64)) +
               sum_all(convert(out.second, DType::f64));
      },
      {random_literal(rng, {2}), random_literal(rng, {3, 2})});
}

TEST(ScanGrad, IntegerInputs) {
  std::mt19937 rng(4);
  expect_gradients(
      [](const Tensors& p) {
        const auto out =
            scan([&](const Tensor&, const Tensor& h,
                     const Tensor& id) { return std::pair<Tensor, Tensors>(h + sin(dynamic_index(p[0], id)), {}); },
                 zeros({DType::f64, {2}}), p[1]);
        return sum_all(out.first * out.first);
      },
      {random_literal(rng, {3, 2}), Literal::from(DType::i32, {4}, std::vector<int64_t>{2, 0, 2, 1})});
}

// A carry that the body passes on, and one the body replaces by a constant.
TEST(ScanGrad, CarryActiveOnlyFromItsStart) {
  std::mt19937 rng(5);
  expect_gradients(
      [](const Tensors& p) {
        const auto out = scan(
            [](const Tensor&, const std::pair<Tensor, Tensor>& c, const Tensor& x) {
              return std::pair(std::pair(c.first, full_like(c.second, 0.5)), c.first * c.second * x);
            },
            std::pair(p[0], p[1]), full({DType::f64, {3}}, 1.5));
        return sum_all(out.first.first * out.first.second) + sum_all(out.second * out.second);
      },
      {random_literal(rng, {2}), random_literal(rng, {2})});
}

// The start is a constant; the carry becomes active through a capture, and another carry through that one.
TEST(ScanGrad, CarriesBecomeActiveInTheLoop) {
  std::mt19937 rng(6);
  expect_gradients(
      [](const Tensors& p) {
        const Tensor zero = zeros({DType::f64, {2}});
        const auto out = scan(
            [&](const Tensor&, const Tensors& c, const Tensors&) {
              return std::pair<Tensors, Tensors>({c[1], tanh(c[2] + c[0]), c[2] * p[0] + 1.0}, {});
            },
            Tensors{zero, zero, zero}, Tensors{}, 5);
        return sum_all(out.first[0] * out.first[0]);
      },
      {random_literal(rng, {2})});
}

TEST(ScanGrad, UnusedOutputsAndCarries) {
  std::mt19937 rng(7);
  const auto body = [](const Tensor&, const Tensor& h, const Tensor& x) {
    return std::pair<Tensor, Tensor>(sin(h * x), h + x);
  };
  const std::vector<Literal> args{random_literal(rng, {2}), random_literal(rng, {3, 2})};
  expect_gradients([&](const Tensors& p) { return sum_all(scan(body, p[0], p[1]).first); }, args);
  expect_gradients([&](const Tensors& p) { return sum_all(exp(scan(body, p[0], p[1]).second)); }, args);
  expect_gradients([&](const Tensors& p) { return sum_all(scan(body, p[0], p[1]).first * 0.0 + p[0]); }, args);
}

TEST(ScanGrad, InnerScanCapturesFromEveryLevel) {
  std::mt19937 rng(8);
  expect_gradients(
      [](const Tensors& p) {
        const Tensor outside = cos(p[0]);
        const auto outer = scan(
            [&](const Tensor& i, const Tensor& h, const Tensor& row) {
              const Tensor between = sin(h * p[0]);
              const auto inner = scan(
                  [&](const Tensor& j, const Tensor& g, const Tensor& x) {
                    const Tensor place = convert(i + j, DType::f64);
                    return std::pair<Tensor, Tensor>(tanh(g * outside + x * between), g * place * p[0]);
                  },
                  h, row);
              return std::pair<Tensor, Tensor>(inner.first + between, reduce_sum(inner.second, {0}));
            },
            p[0], p[1]);
        return sum_all(outer.first * outer.first) + sum_all(outer.second * outside);
      },
      {random_literal(rng, {2}), random_literal(rng, {2, 3, 2})});
}

TEST(ScanGrad, BranchesInsideLoops) {
  std::mt19937 rng(9);
  expect_gradients(
      [](const Tensors& p) {
        const auto out = scan(
            [&](const Tensor& index, const Tensor& h, const Tensor& x) {
              const Tensor early = less(index, full_like(index, 2));
              const Tensors branch = cond(
                  early, [&] { return Tensors{sin(h) * p[0], x}; },
                  [&] {
                    return Tensors{scan([&](const Tensor&, const Tensor& g,
                                            const Tensors&) { return std::pair<Tensor, Tensors>(g * x, {}); },
                                        h, Tensors{}, 2)
                                       .first,
                                   p[0]};
                  });
              return std::pair<Tensor, Tensor>(branch[0], branch[1]);
            },
            p[0], p[1]);
        return sum_all(out.first) + sum_all(out.second * out.second);
      },
      {random_literal(rng, {2}), random_literal(rng, {4, 2})});
}

TEST(ScanGrad, ScanOfGradients) {
  std::mt19937 rng(10);
  // Three steps of gradient descent, differentiated by the start and the data.
  expect_gradients(
      [](const Tensors& p) {
        const auto out = scan(
            [&](const Tensor&, const Tensor& w, const Tensor& x) {
              const Tensor g = grad([&](const Tensor& v) { return sum_all(sin(v * x)); }, w);
              return std::pair<Tensor, Tensors>(w - g * 0.1, {});
            },
            p[0], p[1]);
        return sum_all(out.first * out.first);
      },
      {random_literal(rng, {2}), random_literal(rng, {3, 2})});
}

TEST(ScanGrad, OutputsInReverseKeepTheirPlaces) {
  std::mt19937 rng(11);
  expect_gradients(
      [](const Tensors& p) {
        const auto out =
            scan([](const Tensor& index, const Tensor& h,
                    const Tensor& x) { return std::pair<Tensor, Tensor>(h + x * convert(index, DType::f64), h * x); },
                 p[0], p[1], {}, true);
        return sum_all(out.first) + sum_all(out.second * p[1] * p[1]);
      },
      {random_literal(rng, {2}), random_literal(rng, {3, 2})});
}

TEST(ScanGrad, LengthsAndCarriesThatDontFit) {
  const auto run = [](const Dims& a, const Dims& b) {
    make_graph({}, [&](const Tensors&) {
      const Tensors xs{zeros({DType::f64, a}), zeros({DType::f64, b})};
      return Tensors{scan([](const Tensor&, const Tensor& h,
                             const Tensors& x) { return std::pair<Tensor, Tensors>(h + x[0] + x[1], {}); },
                          zeros({DType::f64, {}}), xs)
                         .first};
    });
  };
  run({3}, {3});
  EXPECT_THROW(run({3}, {4}), Error);
  EXPECT_THROW(run({3, 2}, {3}), Error);  // the carry comes out larger
}

}  // namespace
}  // namespace tenon
