#include "tenon/autodiff/linearize.h"

#include <gtest/gtest.h>

#include <functional>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

const std::vector<TensorType> kTypes{{DType::f64, {3}}};

// The cotangent of x, given that of x * x * x + x; traced in "decoder.norm".
Graph cubic_pullback(const std::function<Tensor(const Tensor&)>& cotangent) {
  return make_graph(kTypes, [&](const Tensors& p) {
    Trace& trace = current_trace();
    trace.set_path("decoder.norm");
    const RegionId region =
        trace_region(trace, kTypes, [](const Tensors& x) { return Tensors{x[0] * x[0] * x[0] + x[0]}; });
    Linearizer linear(trace, region, p, {true}, {});
    return linear.pull({cotangent(p[0])}).params;
  });
}

TEST(Linearizer, SumsWhatReachesAValueOnSeveralWays) {
  const Literal x = Literal::from(DType::f64, {3}, std::vector<double>{0, 1, -2});
  const Graph graph = cubic_pullback([](const Tensor& v) { return full_like(v, 2); });
  const std::vector<Literal> got = interpret(graph, std::vector<Literal>{x});
  // 2 (3 x^2 + 1)
  EXPECT_EQ(got.at(0), Literal::from(DType::f64, {3}, std::vector<double>{2, 8, 26}));
}

TEST(Linearizer, CotangentsHaveTheTypeOfTheirValue) {
  const auto error = [](const std::function<Tensor(const Tensor&)>& cotangent) {
    const auto e = error_of([&] { cubic_pullback(cotangent); });
    return e && e->code() == ErrorCode::internal ? e->message() : "";
  };
  EXPECT_EQ(error([](const Tensor& v) { return convert(v, DType::f32); }),
            "a cotangent of f32[3] for a value of f64[3] at decoder.norm");
  EXPECT_EQ(error([](const Tensor& v) { return reshape(v, {3, 1}); }),
            "a cotangent of f64[3,1] for a value of f64[3] at decoder.norm");
  EXPECT_EQ(error([](const Tensor& v) { return v; }), "");
}

}  // namespace
}  // namespace tenon
