#include "tenon/ir/interpreter.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tenon/ir/cases/op_cases.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using Tensors = std::vector<Tensor>;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

Literal f64(Dims dims, std::vector<double> values) { return Literal::from(DType::f64, dims, values); }
Literal i32(Dims dims, std::vector<int64_t> values) { return Literal::from(DType::i32, dims, values); }

std::vector<Literal> run(const std::vector<Literal>& args, const TensorFn& body) {
  std::vector<TensorType> types;
  for (const Literal& x : args) types.push_back(x.type());
  return interpret(make_graph(types, body), args);
}
std::vector<double> run1(const std::vector<Literal>& args, const TensorFn& body) {
  return run(args, body)[0].to_doubles();
}

// ── control flow against loops written by hand ──

// carry' = carry * x[t] + t, y[t] = carry before.
std::vector<Literal> scan(const Literal& init, const Literal& xs, bool reverse) {
  return run({init, xs}, [&](const Tensors& t) {
    const std::vector<TensorType> params = {{DType::i32, {}}, {DType::f64, {}}, {DType::f64, {}}};
    const RegionId body = trace_region(current_trace(), params, [](const Tensors& p) -> Tensors {
      return {p[1] * p[2] + convert(p[0], DType::f64), p[1]};
    });
    return scan_op(body, xs.dims()[0], {t[0]}, {t[1]}, reverse);
  });
}

TEST(Interpreter, Scan) {
  const std::vector<double> xs = {2, -1, 0.5, 3};
  for (const bool reverse : {false, true}) {
    double carry = 1.5;
    std::vector<double> ys(4);
    for (size_t step = 0; step < 4; ++step) {
      const size_t t = reverse ? 3 - step : step;
      ys[t] = carry;
      carry = carry * xs[t] + static_cast<double>(t);
    }
    const auto out = scan(f64({}, {1.5}), f64({4}, xs), reverse);
    EXPECT_THAT(out[0].to_doubles(), ElementsAre(carry));
    EXPECT_THAT(out[1].to_doubles(), ElementsAreArray(ys));
  }
}

TEST(Interpreter, ScanOfNoSteps) {
  const auto out = scan(f64({}, {1.5}), f64({0}, {}), false);
  EXPECT_THAT(out[0].to_doubles(), ElementsAre(1.5));
  EXPECT_EQ(out[1].type(), (TensorType{DType::f64, {0}}));
}

// Running totals inside running totals: the inner loop reads the outer's row and a capture of the whole graph.
TEST(Interpreter, NestedScan) {
  const Literal x = f64({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto out = run({x, f64({}, {10})}, [](const Tensors& t) {
    const std::vector<TensorType> outer = {{DType::i32, {}}, {DType::f64, {}}, {DType::f64, {3}}};
    const std::vector<TensorType> inner = {{DType::i32, {}}, {DType::f64, {}}, {DType::f64, {}}};
    const RegionId body = trace_region(current_trace(), outer, [&](const Tensors& p) {
      const RegionId add_up = trace_region(current_trace(), inner, [&](const Tensors& q) -> Tensors {
        const Tensor sum = q[1] + q[2] * t[1] + convert(p[0], DType::f64);
        return {sum, sum};
      });
      return scan_op(add_up, 3, {p[1]}, {p[2]});
    });
    return scan_op(body, 2, {zeros({DType::f64, {}})}, {t[0]});
  });
  double sum = 0;
  std::vector<double> expected;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) expected.push_back(sum += 10 * x.as_double(i * 3 + j) + i);
  }
  EXPECT_THAT(out[0].to_doubles(), ElementsAre(sum));
  EXPECT_THAT(out[1].to_doubles(), ElementsAreArray(expected));
}

TEST(Interpreter, While) {
  for (const int64_t start : {0, 1, 27, 97}) {
    int64_t n = start, steps = 0;  // Collatz
    while (n > 1) n = n % 2 == 0 ? n / 2 : 3 * n + 1, ++steps;
    const auto out = run({i32({}, {start})}, [](const Tensors& t) {
      const Tensor one = full({DType::i32, {}}, 1), two = full({DType::i32, {}}, 2);
      return while_loop(
          {t[0], zeros({DType::i32, {}})}, [&](const Tensors& s) { return greater(s[0], one); },
          [&](const Tensors& s) -> Tensors {
            const Tensor even = equal(rem(s[0], two), zeros_like(s[0]));
            return {select(even, s[0] / 2.0, s[0] * 3.0 + 1.0), s[1] + 1.0};
          });
    });
    EXPECT_EQ(out[0].as_int(0), n);
    EXPECT_EQ(out[1].as_int(0), steps);
  }
}

TEST(Interpreter, CondRunsOneBranch) {
  for (const int64_t x : {-3, 4}) {
    std::vector<std::string_view> ran;
    const std::vector<TensorType> params = {{DType::i32, {}}};
    const Graph graph = make_graph(params, [](const Tensors& t) {
      return cond(
          less(t[0], zeros_like(t[0])), [&]() -> Tensors { return {neg(t[0]), t[0]}; },
          [&]() -> Tensors { return {t[0], abs(t[0])}; });
    });
    const auto out = interpret(graph, std::vector<Literal>{i32({}, {x})},
                               [&](const OpInfo& op, std::span<const Literal>) { ran.push_back(op.def->name); });
    EXPECT_EQ(out[0].as_int(0), std::abs(x));
    EXPECT_EQ(out[1].as_int(0), x);
    EXPECT_EQ(ran[ran.size() - 2], x < 0 ? "neg" : "abs");
    EXPECT_EQ(ran.back(), "cond");
  }
}

TEST(Interpreter, CaseRunsOneBranch) {
  const std::vector<TensorType> params = {{DType::i32, {}}};
  const Graph graph = make_graph(params, [](const Tensors& t) {
    return switch_case(t[0], {[&]() -> Tensors { return {neg(t[0])}; }, [&]() -> Tensors { return {t[0] * t[0]}; },
                              [&]() -> Tensors { return {abs(t[0])}; }});
  });
  constexpr int64_t kLeast = std::numeric_limits<int32_t>::min() + 1;
  const std::vector<std::pair<int64_t, int64_t>> expected = {{0, 0}, {1, 1},  {2, 2},
                                                             {3, 3}, {-7, 7}, {kLeast, -kLeast}};
  for (const auto& [index, result] : expected) {
    std::vector<std::string_view> ran;
    const auto out = interpret(graph, std::vector<Literal>{i32({}, {index})},
                               [&](const OpInfo& op, std::span<const Literal>) { ran.push_back(op.def->name); });
    EXPECT_EQ(out[0].as_int(0), result);
    ASSERT_EQ(ran.size(), 2U);
    EXPECT_EQ(ran[0], index == 0 ? "neg" : index == 1 ? "mul" : "abs");
  }
}

TEST(Interpreter, ChecksItsArguments) {
  const std::vector<TensorType> params = {{DType::f32, {2}}};
  const Graph graph = make_graph(params, [](const Tensors& x) { return x; });
  const auto none = error_of([&] { interpret(graph, {}); });
  ASSERT_TRUE(none);
  EXPECT_EQ(none->code(), ErrorCode::shape_mismatch);
  const std::vector<Literal> wrong = {Literal({DType::f32, {3}})};
  const auto e = error_of([&] { interpret(graph, wrong); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::shape_mismatch);
  EXPECT_THAT(e->what(), ::testing::HasSubstr("got f32[3], expected f32[2]"));
}

// Results are rounded to their dtype at every op, so 1 + 2^-9 is 1 in bf16.
TEST(Interpreter, RoundsAtEveryOp) {
  const Literal one = Literal::from(DType::bf16, {}, std::vector<double>{1});
  EXPECT_THAT(run1({one}, [](const Tensors& x) -> Tensors { return {(x[0] + 0x1p-9) - 1.0}; }), ElementsAre(0));
  EXPECT_THAT(run1({f64({}, {1})}, [](const Tensors& x) -> Tensors { return {(x[0] + 0x1p-9) - 1.0}; }),
              ElementsAre(0x1p-9));
}

// ── ops whose loops are easy to get wrong ──

TEST(Interpreter, DotGeneralAgainstNamedIndices) {
  // out[b,c,m,n] = sum_k x[k,b,m,c] y[n,c,k,b]
  const Literal x = sample({DType::f64, {2, 3, 4, 2}}, -1, 1), y = sample({DType::f64, {5, 2, 2, 3}}, -1, 1, 1);
  const auto out =
      run({x, y}, [](const Tensors& t) -> Tensors { return {dot_general(t[0], t[1], {{1, 3}, {3, 1}, {0}, {2}})}; })[0];
  ASSERT_EQ(out.dims(), (Dims{3, 2, 4, 5}));
  for (int64_t b = 0, at = 0; b < 3; ++b) {
    for (int64_t c = 0; c < 2; ++c) {
      for (int64_t m = 0; m < 4; ++m) {
        for (int64_t n = 0; n < 5; ++n, ++at) {
          double sum = 0;
          for (int64_t k = 0; k < 2; ++k) {
            sum += x.as_double(((k * 3 + b) * 4 + m) * 2 + c) * y.as_double(((n * 2 + c) * 2 + k) * 3 + b);
          }
          EXPECT_NEAR(out.as_double(at), sum, 1e-14);
        }
      }
    }
  }
}

TEST(Interpreter, MovingElements) {
  const Literal x = f64({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto check = [&](const TensorFn& body, std::vector<double> expected) {
    EXPECT_THAT(run1({x}, body), ElementsAreArray(expected));
  };
  check([](const Tensors& t) -> Tensors { return {transpose(t[0], {1, 0})}; }, {1, 4, 2, 5, 3, 6});
  check([](const Tensors& t) -> Tensors { return {slice(t[0], {0, 0}, {2, 3}, {1, 2})}; }, {1, 3, 4, 6});
  check([](const Tensors& t) -> Tensors { return {slice_dim(t[0], -1, 1, 2)}; }, {2, 5});
  check([](const Tensors& t) -> Tensors { return {concatenate(Tensors{t[0], slice_dim(t[0], 1, 0, 1)}, 1)}; },
        {1, 2, 3, 1, 4, 5, 6, 4});
  check([](const Tensors& t) -> Tensors { return {pad(t[0], full({DType::f64, {}}, 9), {0, -1}, {1, 1}, {0, 1})}; },
        {9, 2, 9, 3, 9, 9, 5, 9, 6, 9, 9, 9, 9, 9, 9});
  check([](const Tensors& t) -> Tensors { return {broadcast_in_dim(slice_dim(t[0], 1, 0, 1), {2, 2, 2}, {0, 2})}; },
        {1, 1, 1, 1, 4, 4, 4, 4});
  check([](const Tensors& t) -> Tensors { return {dynamic_index(t[0], full({DType::i32, {}}, 7))}; }, {4, 5, 6});
  check(
      [](const Tensors& t) -> Tensors {
        return {dynamic_update_index(t[0], full({DType::f64, {3}}, 0), full({DType::i32, {}}, -7))};
      },
      {0, 0, 0, 4, 5, 6});
  check([](const Tensors& t) -> Tensors { return {squeeze(expand_dims(reshape(t[0], {-1, 2}), -1), 2)}; },
        {1, 2, 3, 4, 5, 6});
}

TEST(Interpreter, RowsByIndex) {
  const Literal table = f64({3, 2}, {1, 2, 3, 4, 5, 6}), ids = i32({4}, {2, -1, 3, 2});
  EXPECT_THAT(run1({table, ids}, [](const Tensors& t) -> Tensors { return {take(t[0], t[1])}; }),
              ElementsAre(5, 6, 1, 2, 5, 6, 5, 6));
  EXPECT_THAT(run1({ids, f64({4, 2}, {1, 2, 10, 20, 100, 200, 3, 4})},
                   [](const Tensors& t) -> Tensors { return {scatter_add_rows(t[0], t[1], 3)}; }),
              ElementsAre(0, 0, 0, 0, 4, 6));
}

TEST(Interpreter, ReductionsAndWhatIsMadeOfThem) {
  const Literal x = f64({2, 3}, {3, 1, 3, 2, 9, 4});
  const auto check = [&](const TensorFn& body, std::vector<double> expected) {
    EXPECT_THAT(run1({x}, body), ElementsAreArray(expected));
  };
  check([](const Tensors& t) -> Tensors { return {reduce_sum(t[0], {-1})}; }, {7, 15});
  check([](const Tensors& t) -> Tensors { return {reduce_max(t[0], {0})}; }, {3, 9, 4});
  check([](const Tensors& t) -> Tensors { return {reduce_min(t[0], {0, 1})}; }, {1});
  check([](const Tensors& t) -> Tensors { return {reduce_prod(t[0], {1})}; }, {9, 72});
  check([](const Tensors& t) -> Tensors { return {mean(t[0], {1})}; }, {7.0 / 3, 5});
  check([](const Tensors& t) -> Tensors { return {t[0] - max_keep(t[0], {1})}; }, {0, -2, 0, -7, 0, -5});
  check([](const Tensors& t) -> Tensors { return {sum_all(t[0])}; }, {22});
  check([](const Tensors& t) -> Tensors { return {sum_keep(t[0], {0})}; }, {5, 10, 7});
  check([](const Tensors& t) -> Tensors { return {mean_keep(t[0], {1}) - t[0]}; },
        {7.0 / 3 - 3, 7.0 / 3 - 1, 7.0 / 3 - 3, 3, -4, 1});
  check([](const Tensors& t) -> Tensors { return {argmax(t[0], -1)}; }, {0, 1});
  check([](const Tensors& t) -> Tensors { return {reduce_sum(t[0], {})}; }, {3, 1, 3, 2, 9, 4});
  EXPECT_THAT(run1({f64({2, 3}, {1, kNaN, kInf, -kInf, -kInf, -kInf})},
                   [](const Tensors& t) -> Tensors { return {argmax(t[0], 1)}; }),
              ElementsAre(1, 0));
}

TEST(Interpreter, SoftmaxesFromTheLargestDown) {
  const Literal x = f64({2, 2}, {1000, 1000, 0, std::log(3.0)});
  const std::vector<double> sums = run1({x}, [](const Tensors& t) -> Tensors { return {log_sum_exp_keep(t[0])}; });
  EXPECT_NEAR(sums.at(0), 1000 + std::log(2.0), 1e-12);
  EXPECT_NEAR(sums.at(1), std::log(4.0), 1e-12);
  const std::vector<double> got = run1({x}, [](const Tensors& t) -> Tensors { return {log_softmax(t[0])}; });
  const std::vector<double> want{-std::log(2.0), -std::log(2.0), -std::log(4.0), std::log(0.75)};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(got.at(i), want[i], 1e-12);
}

// 300 halves are 150 in f16 and bf16 sums, though 128 + 0.5 isn't a bf16; and their mean doesn't overflow f16.
TEST(Interpreter, NarrowSumsAreWide) {
  Literal halves({DType::bf16, {300}}), large({DType::f16, {300}});
  for (int64_t i = 0; i < 300; ++i) halves.set(i, 0.5), large.set(i, 60000);
  EXPECT_THAT(run1({halves}, [](const Tensors& t) -> Tensors { return {reduce_sum(t[0], {0})}; }), ElementsAre(150));
  EXPECT_THAT(run1({large}, [](const Tensors& t) -> Tensors { return {mean(t[0], {0})}; }), ElementsAre(60000));
  EXPECT_THAT(run1({i32({300}, std::vector<int64_t>(300, 1)), halves},
                   [](const Tensors& t) -> Tensors { return {scatter_add_rows(t[0], t[1], 2)}; }),
              ElementsAre(0, 150));
}

TEST(Interpreter, IntegersFollowXla) {
  const int64_t low = std::numeric_limits<int32_t>::min();
  const Literal x = i32({5}, {7, -7, 7, low, low}), y = i32({5}, {2, 2, 0, -1, 0});
  EXPECT_THAT(run1({x, y}, [](const Tensors& t) -> Tensors { return {div(t[0], t[1])}; }),
              ElementsAre(3, -3, -1, low, -1));
  EXPECT_THAT(run1({x, y}, [](const Tensors& t) -> Tensors { return {rem(t[0], t[1])}; }),
              ElementsAre(1, -1, 7, 0, low));
  EXPECT_THAT(run1({i32({4}, {3, 2, -1, 2})},
                   [](const Tensors& t) -> Tensors { return {pow(t[0], constant(i32({4}, {4, 31, -3, -1})))}; }),
              ElementsAre(81, low, -1, 0));
  EXPECT_THAT(run1({f64({5}, {kNaN, kInf, -kInf, -1.9, 3e9})},
                   [](const Tensors& t) -> Tensors { return {convert(t[0], DType::i32)}; }),
              ElementsAre(0, 2147483647, low, -1, 2147483647));
}

TEST(Interpreter, SpecialFloats) {
  const Literal x = f64({4}, {kNaN, -0.0, kInf, -kInf});
  const auto sign_of = run1({x}, [](const Tensors& t) -> Tensors { return {sign(t[0])}; });
  EXPECT_TRUE(std::isnan(sign_of[0]));
  EXPECT_EQ(std::vector<double>(sign_of.begin() + 1, sign_of.end()), (std::vector<double>{0, 1, -1}));
  EXPECT_TRUE(std::isnan(run1({x}, [](const Tensors& t) -> Tensors { return {reduce_max(t[0], {0})}; })[0]));
  EXPECT_THAT(run1({f64({5}, {kNaN, 2, -kInf, kInf, 1})},
                   [](const Tensors& t) -> Tensors { return {slice_dim(sort(t[0], 0), 0, 0, 4)}; }),
              ElementsAre(-kInf, 1, 2, kInf));
  EXPECT_THAT(run1({f64({5}, {kNaN, 2, -kInf, kInf, 1})},
                   [](const Tensors& t) -> Tensors { return {slice_dim(sort(t[0], 0, true), 0, 0, 4)}; }),
              ElementsAre(kInf, 2, 1, -kInf));
}

TEST(Interpreter, OperatorsBroadcastAndTakeNumbers) {
  const Literal column = f64({2, 1}, {10, 20}), row = f64({3}, {1, 2, 4});
  EXPECT_THAT(run1({column, row}, [](const Tensors& t) -> Tensors { return {t[0] + t[1]}; }),
              ElementsAre(11, 12, 14, 21, 22, 24));
  EXPECT_THAT(run1({column, row}, [](const Tensors& t) -> Tensors { return {t[0] / t[1]}; }),
              ElementsAre(10, 5, 2.5, 20, 10, 5));
  EXPECT_THAT(run1({row}, [](const Tensors& t) -> Tensors { return {8.0 / t[0] - 1.0}; }), ElementsAre(7, 3, 1));
  EXPECT_THAT(run1({row}, [](const Tensors& t) -> Tensors { return {1.0 - t[0] * 2.0}; }), ElementsAre(-1, -3, -7));
}

}  // namespace
}  // namespace tenon
