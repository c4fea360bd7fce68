#include "tenon/passes/fold_constants.h"

#include <gtest/gtest.h>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/verify.h"
#include "tenon/passes/dce.h"
#include "tenon/passes/testing/ops_of.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

Tensor f32(double value) { return constant(Literal::scalar(DType::f32, value)); }
Tensor f32_zeros(const Dims& dims) { return constant(Literal(TensorType{DType::f32, dims})); }

// The ops that are left of a program without inputs, whose result stays.
std::string folded(const std::function<Tensor()>& body) {
  Graph graph = make_graph({}, [&](const Tensors&) { return Tensors{body()}; });
  const std::vector<Literal> want = interpret(graph, {});
  simplify(graph, constant_rules());
  eliminate_dead_code(graph);
  verify(graph);
  EXPECT_EQ(interpret(graph, {}), want);
  const std::string once = ops_of(graph);
  simplify(graph, constant_rules());
  EXPECT_EQ(ops_of(graph), once);
  return once;
}

TEST(FoldConstants, ScalarsAndSmallArrays) {
  EXPECT_EQ(folded([] { return select(less(f32(2), f32(3)), f32(0.1) * f32(3), -f32(1)); }), "constant");
  EXPECT_EQ(folded([] { return f32(0) / f32(0); }), "constant");
  EXPECT_EQ(folded([] { return convert(convert(f32(1e9), DType::i8), DType::bf16); }), "constant");
  const std::vector<double> values{1, 2, 3, 4};
  EXPECT_EQ(folded([&] {
              const Tensor x = constant(Literal::from(DType::f32, {4}, std::span<const double>(values)));
              return reshape(reverse(x * x, {0}), {2, 2});
            }),
            "constant");
}

TEST(FoldConstants, OneValueStaysABroadcast) {
  EXPECT_EQ(folded([] { return full({DType::f32, {1000, 1000}}, 2) * full({DType::f32, {1000, 1000}}, 3); }),
            "constant broadcast_in_dim");
  EXPECT_EQ(folded([] { return full({DType::f32, {3}}, 2) + 1.0; }), "constant broadcast_in_dim");
  EXPECT_EQ(folded([] { return full({DType::f32, {3}}, 2); }), "constant broadcast_in_dim");
  EXPECT_EQ(folded([] { return slice_dim(f32_zeros({100}), 0, 4, 7); }), "constant broadcast_in_dim");
}

TEST(FoldConstants, NothingGrows) {
  EXPECT_EQ(folded([] { return f32_zeros({16}) + f32_zeros({16}); }), "constant constant add");
  EXPECT_EQ(folded([] { return iota({DType::f32, {4}}, 0); }), "iota");
  EXPECT_EQ(folded([] { return iota({DType::f32, {4}}, 0) * 2.0; }), "iota constant broadcast_in_dim mul");
  EXPECT_EQ(folded([] { return pad(f32(1), f32(2), {}, {}) * 1.0; }), "constant");
  EXPECT_EQ(folded([] { return slice_dim(f32_zeros({10000}), 0, 0, 2); }), "constant slice");
}

TEST(FoldConstants, WhatBackendsRoundDifferentlyIsTheirs) {
  EXPECT_EQ(folded([] { return exp(f32(1)); }), "constant exp");
  EXPECT_EQ(folded([] { return sum_all(f32_zeros({4})); }), "constant reduce_sum");
}

TEST(FoldConstants, InsideRegions) {
  EXPECT_EQ(folded([] {
              const std::vector<TensorType> params{{DType::i32, {}}, {DType::f32, {}}};
              const RegionId body = trace_region(current_trace(), params,
                                                 [](const Tensors& p) { return Tensors{p[1] + (f32(2) + f32(3))}; });
              return scan_op(body, 3, {f32(1)}, {})[0];
            }),
            "constant scan{constant add}");
}

}  // namespace
}  // namespace tenon
