#include "tenon/ir/verify.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

// x, exp(x), neg(exp(x)), and a cond that captures.
Graph sample_graph() {
  const std::vector<TensorType> params = {{DType::f32, {2}}};
  return make_graph(params, [](const Tensors& x) -> Tensors {
    current_trace().set_path("model");
    const Tensor y = exp(x[0]), z = neg(y), yes = equal(sum_all(y), sum_all(z));
    return cond(yes, [&]() -> Tensors { return {y * z}; }, [&]() -> Tensors { return {z}; });
  });
}

void expect_broken(const Graph& graph, const char* words) {
  const auto e = error_of([&] { verify(graph); });
  ASSERT_TRUE(e) << words;
  EXPECT_EQ(e->code(), ErrorCode::internal);
  EXPECT_THAT(e->what(), HasSubstr(words));
}

TEST(Verify, AcceptsWhatTracingMakes) { EXPECT_NO_THROW(verify(sample_graph())); }

TEST(Verify, FindsAMissingDefinition) {
  const Graph graph = sample_graph();
  std::vector<OpId> ops = graph.trace->region(graph.root).ops;
  ops.erase(ops.begin());
  graph.trace->replace_ops(graph.root, ops);
  expect_broken(graph, "before it is defined");
  EXPECT_EQ(error_of([&] { verify(graph); })->path(), "model/reduce_sum");
}

TEST(Verify, FindsOpsOutOfOrder) {
  const Graph graph = sample_graph();
  std::vector<OpId> ops = graph.trace->region(graph.root).ops;
  std::swap(ops[0], ops[1]);
  graph.trace->replace_ops(graph.root, ops);
  expect_broken(graph, "before it is defined");
}

TEST(Verify, FindsAnOpListedTwice) {
  const Graph graph = sample_graph();
  std::vector<OpId> ops = graph.trace->region(graph.root).ops;
  ops.push_back(ops[0]);
  graph.trace->replace_ops(graph.root, ops);
  expect_broken(graph, "is defined twice");
}

TEST(Verify, FindsAnOpOfAnotherRegion) {
  const Graph graph = sample_graph();
  std::vector<OpId> ops = graph.trace->region(graph.root).ops;
  const RegionId branch = graph.trace->op(ops.back()).regions[0];
  ops.push_back(graph.trace->region(branch).ops[0]);
  graph.trace->replace_ops(graph.root, ops);
  expect_broken(graph, "isn't its own");
}

// An op whose inference changes its mind.
DType inferred = DType::f32;
const OpDef kFickle{"fickle", [](const InferArgs&) -> std::vector<TensorType> { return {{inferred, {}}}; }, nullptr,
                    nullptr};

TEST(Verify, InfersTypesAgain) {
  inferred = DType::f32;
  const Graph graph = make_graph({}, [](const Tensors&) -> Tensors { return current_trace().emit(kFickle, {}, {}); });
  EXPECT_NO_THROW(verify(graph));
  inferred = DType::i32;
  expect_broken(graph, "result 0 is f32[] but infers i32[]");
}

TEST(Verify, FindsAnOpenRegion) {
  Graph graph;
  graph.trace = std::make_unique<Trace>();
  graph.root = graph.trace->open_region({});
  expect_broken(graph, "a region is open");
}

}  // namespace
}  // namespace tenon
