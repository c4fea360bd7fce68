#include "tenon/nn/experts/grouped_rows.h"

#include <gtest/gtest.h>

#include "tenon/autodiff/testing/check_gradients.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

std::vector<Literal> run(const std::vector<Literal>& args, const std::function<Tensors(const Tensors&)>& f) {
  std::vector<TensorType> types;
  for (const Literal& x : args) types.push_back(x.type());
  return interpret(make_graph(types, f), args);
}

Literal ints(const Dims& dims, const std::vector<int64_t>& values) { return Literal::from(DType::i32, dims, values); }

TEST(GroupedRows, OrderIsByGroupAndStable) {
  const auto got = run({ints({2, 6}, {2, 0, 2, 1, 0, 2, 1, 1, 1, 1, 1, 1})}, [](const Tensors& t) {
    const GroupOrder o = order_by_group(t[0], 4);
    return Tensors{o.order, o.rank, o.counts, o.starts};
  });
  EXPECT_EQ(got[0], ints({2, 6}, {1, 4, 3, 0, 2, 5, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(got[1], ints({2, 6}, {0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(got[2], ints({2, 4}, {2, 1, 3, 0, 0, 6, 0, 0}));
  EXPECT_EQ(got[3], ints({2, 4}, {0, 2, 3, 6, 0, 0, 6, 6}));
}

TEST(GroupedRows, MovedRowsAndTheirGradient) {
  const Literal x = Literal::from(DType::f64, {1, 2, 2}, std::vector<double>{1, 2, 3, 4});
  // Row 1 goes to places 0 and 3, row 0 to place 1; place 2 is empty.
  const Literal source = ints({1, 4}, {1, 0, 2, 1}), targets = ints({1, 2, 2}, {1, 4, 0, 3});
  const auto moved = run({x, source, targets}, [](const Tensors& t) { return Tensors{move_rows(t[0], t[1], t[2])}; });
  EXPECT_EQ(moved[0].to_doubles(), (std::vector<double>{3, 4, 1, 2, 0, 0, 3, 4}));
  std::mt19937 rng(1);
  const Literal weight = random_literal(rng, {1, 4, 2});
  const auto loss = [](const Tensors& t) {
    const Tensor y = move_rows(t[0], t[2], t[3]);
    return sum_all(y * y * t[1]);
  };
  EXPECT_EQ(check_gradients(loss, {x, weight, source, targets}), "");
}

TEST(GroupedRows, ProductsEqualThoseWithChosenMatrices) {
  std::mt19937 rng(2);
  const Literal x = random_literal(rng, {4, 3, 2}), w = random_literal(rng, {3, 2, 5}), g = ints({4}, {2, 0, 2, 2});
  const auto got = run({x, w, g}, [](const Tensors& t) {
    return Tensors{grouped_dot(t[0], t[1], t[2]), matmul(t[0], take(t[1], t[2]))};
  });
  for (int64_t i = 0; i < got[1].size(); ++i) EXPECT_NEAR(got[0].as_double(i), got[1].as_double(i), 1e-14);
  const auto loss = [](const Tensors& t) {
    const Tensor y = grouped_dot(t[0], t[1], t[2]);
    return sum_all(y * y * y);
  };
  EXPECT_EQ(check_gradients(loss, {x, w, g}), "");
}

}  // namespace
}  // namespace tenon
