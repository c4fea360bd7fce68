#include "tenon/passes/pipeline.h"

#include <gtest/gtest.h>

#include "tenon/ir/cases/op_cases.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/ops/custom_call.h"
#include "tenon/ir/printer.h"
#include "tenon/ir/verify.h"
#include "tenon/passes/testing/ops_of.h"
#include "tenon/passes/testing/special_values.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

TEST(Pipeline, EveryPassKeepsWhatEveryOpsCasesCompute) {
  for (const OpCase& c : op_cases()) {
    Graph graph = graph_of(c);
    const std::vector<Literal> want = interpret(graph, c.inputs);
    const PassObserver check = [&](const Pass* pass, const Graph& g) {
      SCOPED_TRACE(c.name() + " after " + std::string(pass == nullptr ? "nothing" : pass->name));
      verify(g);
      EXPECT_TRUE(same_results(interpret(g, c.inputs), want));
    };
    run_passes(graph, {}, c.mesh, check);
    const std::string once = to_string(graph);
    run_passes(graph, {}, c.mesh);
    EXPECT_EQ(to_string(graph), once) << c.name();
  }
}

TEST(Pipeline, ObserversSeeTheGraphBeforeAndAfterEachPass) {
  const std::vector<TensorType> inputs{{DType::f32, {2}}};
  Graph graph = make_graph(inputs, [](const Tensors& x) { return Tensors{-(-x[0]) * (x[0] * 1.0)}; });
  std::vector<std::string_view> seen;
  std::string first, last;
  run_passes(graph, {}, Mesh(), [&](const Pass* pass, const Graph& g) {
    seen.push_back(pass == nullptr ? "" : pass->name);
    (pass == nullptr ? first : last) = ops_of(g);
  });
  std::vector<std::string_view> want{""};
  for (const Pass& pass : passes()) want.push_back(pass.name);
  EXPECT_EQ(seen, want);
  EXPECT_EQ(first, "neg neg constant broadcast_in_dim mul mul");
  EXPECT_EQ(last, "mul");
}

// The layout a kernel wants and the one the model gives cancel.
TEST(Pipeline, WhatKernelsTraceIsSimplified) {
  const TensorType tokens{DType::f32, {2, 3, 4, 2}}, places{DType::i32, {2, 3}};
  const std::vector<TensorType> inputs{tokens, places};
  const auto body = [](const Tensors& t) {
    const Tensor x = transpose(t[0], {0, 2, 1, 3});
    return Tensors{attention({x, x, x, t[1], t[1], t[1], t[1]}, {}).context};
  };
  const auto lower = [](const KernelUse& use, const Tensors& operands) {
    return custom_call({"mine", ""}, {transpose(operands[0], {0, 2, 1, 3})}, use.results);
  };
  const KernelList kernels{{"attention", "mine", [](const KernelUse&) { return std::string(); }, lower}};
  Graph with = make_graph(inputs, body), without = make_graph(inputs, body);
  EXPECT_EQ(run_passes(with, kernels, Mesh()).at(0).implementation, "mine");
  EXPECT_EQ(ops_of(with), "custom_call");
  EXPECT_EQ(run_passes(without, {}, Mesh()).at(0).implementation, "");
}

}  // namespace
}  // namespace tenon
