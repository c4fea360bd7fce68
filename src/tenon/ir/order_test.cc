#include "tenon/ir/order.h"

#include <gtest/gtest.h>

#include "tenon/ir/cases/op_cases.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/printer.h"
#include "tenon/ir/testing/shuffle_ops.h"
#include "tenon/ir/verify.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

std::vector<std::string_view> names(const Graph& graph) {
  std::vector<std::string_view> out;
  for (const OpId id : graph.trace->region(graph.root).ops) out.push_back(graph.trace->op(id).def->name);
  return out;
}

// Whatever order a compiler evaluates operands in.
TEST(Order, FollowsOperandsNotTheTrace) {
  const std::vector<TensorType> inputs{{DType::f32, {2}}, {DType::f32, {2}}};
  const auto left_first = [](const Tensors& x) {
    const Tensor a = tanh(x[0]);
    const Tensor b = exp(x[1]);
    return Tensors{a + b};
  };
  const auto right_first = [](const Tensors& x) {
    const Tensor b = exp(x[1]);
    const Tensor a = tanh(x[0]);
    return Tensors{a + b};
  };
  const Graph graph = make_graph(inputs, right_first);
  EXPECT_EQ(to_string(graph), to_string(make_graph(inputs, left_first)));
  EXPECT_EQ(names(graph), (std::vector<std::string_view>{"tanh", "exp", "add"}));
  // This one is in the compiler's hands.
  const Graph nested =
      make_graph(inputs, [](const Tensors& x) { return Tensors{tanh(x[0]) * exp(x[1]) - sin(x[0]) / cos(x[1])}; });
  EXPECT_EQ(names(nested), (std::vector<std::string_view>{"tanh", "exp", "mul", "sin", "cos", "div", "sub"}));
}

TEST(Order, WhatIsNotNeededComesLastAndCapturesComeBefore) {
  const std::vector<TensorType> inputs{{DType::f32, {2}}};
  const Graph graph = make_graph(inputs, [](const Tensors& x) {
    sin(tanh(x[0]));
    const Tensor scale = exp(x[0]);
    const std::vector<TensorType> params{{DType::i32, {}}, x[0].type()};
    const RegionId body =
        trace_region(current_trace(), params, [&](const Tensors& p) { return Tensors{p[1] * scale}; });
    return Tensors{scan_op(body, 2, {neg(x[0])}, {})};
  });
  EXPECT_EQ(names(graph), (std::vector<std::string_view>{"neg", "exp", "scan", "tanh", "sin"}));
}

TEST(Order, EveryOpsCasesShuffled) {
  std::mt19937 rng(1);
  for (const OpCase& c : op_cases()) {
    SCOPED_TRACE(c.name());
    const Graph graph = graph_of(c);
    const std::vector<OpId> ops = graph.trace->region(graph.root).ops;
    shuffle_ops(*graph.trace, graph.root, rng);
    verify(graph);
    EXPECT_EQ(canonical_order(*graph.trace, graph.root), ops);
  }
}

TEST(Order, DeepProgramsNeedNoStack) {
  const std::vector<TensorType> inputs{{DType::f32, {}}};
  const Graph graph = make_graph(inputs, [](const Tensors& x) {
    Tensor y = x[0];
    for (int i = 0; i < 200000; ++i) y = sin(y);
    return Tensors{y};
  });
  EXPECT_EQ(canonical_order(*graph.trace, graph.root), graph.trace->region(graph.root).ops);
}

}  // namespace
}  // namespace tenon
