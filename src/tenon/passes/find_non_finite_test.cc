#include "tenon/passes/find_non_finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/passes/watch_values.h"

namespace tenon {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
const TensorType kPair{DType::f32, {2}};

// "op" or "op[round][round]" of the origin of the only result, "parameter" for one of the program, "" for none.
std::string origin(const TensorFn& body, double first, double second) {
  const std::vector<TensorType> params{kPair};
  Graph graph = make_graph(params, body);
  const RegionId root = graph.root;
  const ValueId target = graph.trace->region(root).results[0];
  const Trace& trace = *graph.trace;
  const WatchedPlaces places =
      watch_values(graph, {[&](ValueId v) { return is_float(trace.value(v).type.dtype); }, magnitude});
  const Literal arg = Literal::from(DType::f32, {2}, std::vector<double>{first, second});
  const std::vector<Literal> got = interpret(graph, std::vector<Literal>{arg});
  const auto found = find_non_finite(trace, root, target, [&](ValueId v, std::span<const LoopRound> rounds) {
    std::vector<int64_t> indices;
    for (const LoopRound& r : rounds) indices.push_back(r.index);
    const Literal& all = got.at(places.at(v).result);
    return worst_of(all.as_double(first_element(places.at(v), all.type(), indices)));
  });
  if (!found) return "";
  const OpId def = trace.value(found->value).def;
  std::string out = def == kNoId ? "parameter" : std::string(trace.op(def).def->name);
  for (const LoopRound& r : found->rounds) out += "[" + std::to_string(r.index) + "]";
  return out;
}

std::vector<Tensor> one(const Tensor& x) { return {x}; }
Tensor infinity(const Tensor& like) { return full_like(like, -kInf); }

TEST(FindNonFinite, FiniteIsNoOrigin) {
  EXPECT_EQ(origin([](const std::vector<Tensor>& x) { return one(exp(x[0])); }, 1, 2), "");
}

TEST(FindNonFinite, TheOpThatOverflowsNotTheOneThatMakesNaN) {
  const TensorFn body = [](const std::vector<Tensor>& x) {
    const Tensor big = exp(x[0]) * 2.0;
    return one(sqrt(big / big));
  };
  EXPECT_EQ(origin(body, 1, 100), "exp");
}

TEST(FindNonFinite, AParameter) {
  const TensorFn body = [](const std::vector<Tensor>& x) { return one(tanh(x[0] * x[0])); };
  EXPECT_EQ(origin(body, 1, kInf), "");  // tanh makes it finite again
  EXPECT_EQ(origin(body, 1, kNaN), "parameter");
}

// Masks hold infinities on purpose.
TEST(FindNonFinite, InfiniteConstantsAreMeant) {
  const TensorFn body = [](const std::vector<Tensor>& x) {
    const Tensor masked = select(greater(x[0], zeros_like(x[0])), x[0], infinity(x[0]));
    const Tensor top = broadcast_to(reshape(reduce_max(masked, {0}), {1}), {2});
    return one(log(reduce_sum(exp(masked - top), {0})));
  };
  EXPECT_EQ(origin(body, 1, -1), "");
  EXPECT_EQ(origin(body, -1, -1), "sub");  // all masked: -inf - -inf
}

TEST(FindNonFinite, InfinitiesThatLeadNowhereAreNotBlamed) {
  const TensorFn body = [](const std::vector<Tensor>& x) {
    const Tensor meant = log(x[0] - x[0]);  // -inf
    return one(meant + sqrt(-x[0]));
  };
  EXPECT_EQ(origin(body, 1, 2), "sqrt");
}

TEST(FindNonFinite, WhereNothingElseIsToBlameTheConstantIs) {
  EXPECT_EQ(origin([](const std::vector<Tensor>& x) { return one(x[0] + infinity(x[0])); }, 1, 2), "constant");
}

// x squared in each of four rounds; y the square root of what is left under 1e10.
TEST(FindNonFinite, TheRoundOfALoop) {
  for (const bool reverse : {false, true}) {
    const TensorFn body = [&](const std::vector<Tensor>& x) {
      const std::vector<TensorType> types{{DType::i32, {}}, kPair};
      const RegionId region = trace_region(current_trace(), types, [](const std::vector<Tensor>& a) {
        return std::vector<Tensor>{a[1] * a[1], sqrt(1e10 - a[1])};
      });
      return one(scan_op(region, 4, {x[0]}, {}, reverse)[1]);
    };
    EXPECT_EQ(origin(body, 2, 10), "");
    EXPECT_EQ(origin(body, 2, 1e3), reverse ? "sqrt[1]" : "sqrt[2]");
  }
}

TEST(FindNonFinite, TheRoundWhoseSliceIsBad) {
  const TensorFn body = [&](const std::vector<Tensor>& x) {
    const TensorType scalar{DType::f32, {}};
    const std::vector<TensorType> types{{DType::i32, {}}, scalar, scalar};
    const RegionId region = trace_region(
        current_trace(), types, [](const std::vector<Tensor>& a) { return std::vector<Tensor>{a[1] + log(a[2])}; });
    return one(scan_op(region, 2, {zeros(scalar)}, {x[0]})[0]);
  };
  EXPECT_EQ(origin(body, 1, 2), "");
  EXPECT_EQ(origin(body, 1, -2), "log[1]");
  EXPECT_EQ(origin(body, 1, kNaN), "parameter");
}

TEST(NarrowToF32, KeepsFiniteNumbersFinite) {
  const std::vector<TensorType> params{{DType::f64, {5}}};
  const Graph graph = make_graph(params, [](const std::vector<Tensor>& t) { return one(narrow_to_f32(t[0])); });
  Literal x(params[0]);
  const double values[] = {0.5, 1e300, -1e300, kInf, kNaN};
  for (int64_t i = 0; i < 5; ++i) x.set(i, values[i]);
  const Literal got = interpret(graph, std::vector<Literal>{x})[0];
  const double most = std::numeric_limits<float>::max();
  const double want[] = {0.5, most, -most, kInf};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(got.as_double(i), want[i]);
  EXPECT_TRUE(std::isnan(got.as_double(4)));
}

TEST(Magnitude, Arrays) {
  const auto magnitude_of = [](DType dtype, const std::vector<double>& values) {
    const Literal x = Literal::from(dtype, {static_cast<int64_t>(values.size())}, values);
    const std::vector<TensorType> params{x.type()};
    const Graph graph = make_graph(params, [](const std::vector<Tensor>& t) { return one(magnitude(t[0])); });
    return interpret(graph, std::vector<Literal>{x})[0].as_double(0);
  };
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    EXPECT_EQ(magnitude_of(dtype, {}), 0);
    EXPECT_EQ(magnitude_of(dtype, {1, -3}), 3);
    EXPECT_EQ(worst_of(magnitude_of(dtype, {1, -kInf})), Worst::infinite);
    EXPECT_EQ(worst_of(magnitude_of(dtype, {kInf, kNaN, 2})), Worst::nan);
  }
  EXPECT_EQ(worst_of(magnitude_of(DType::f64, {1e300})), Worst::finite);
}

}  // namespace
}  // namespace tenon
