#include "tenon/passes/guard_own_slices.h"

#include <gtest/gtest.h>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/verify.h"
#include "tenon/passes/testing/ops_of.h"
#include "tenon/passes/testing/special_values.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

Tensors starts(const Tensors& x) { return {x[2], x[2]}; }

std::string guarded(const TensorFn& body) {
  const std::vector<TensorType> inputs{{DType::f32, {4, 2}}, {DType::f32, {2, 2}}, {DType::i32, {}}};
  Graph graph = make_graph(inputs, body);
  std::vector<Literal> args = special_values(inputs, 1);
  args[2] = Literal::scalar_int(DType::i32, 1);
  const std::vector<Literal> want = interpret(graph, args);
  guard_own_slices(graph);
  verify(graph);
  EXPECT_TRUE(same_results(interpret(graph, args), want));
  const std::string once = ops_of(graph);
  guard_own_slices(graph);
  EXPECT_EQ(ops_of(graph), once);
  return once;
}

TEST(GuardOwnSlices, PutsABarrierBeforeWhatIsComputedFromTheArrayItself) {
  EXPECT_EQ(guarded([](const Tensors& x) {
              return Tensors{dynamic_update_slice(x[0], slice(x[0], {0, 0}, {2, 2}), starts(x))};
            }),
            "slice optimization_barrier dynamic_update_slice");
  EXPECT_EQ(guarded([](const Tensors& x) {
              const Tensor moved = transpose(dynamic_slice(x[0], starts(x), Dims{2, 2}), {1, 0});
              return Tensors{dynamic_update_slice(x[0], moved, starts(x))};
            }),
            "dynamic_slice transpose optimization_barrier dynamic_update_slice");
  EXPECT_EQ(guarded([](const Tensors& x) {
              return Tensors{dynamic_update_slice(x[0], x[1] - slice(x[0], {0, 0}, {2, 2}), starts(x))};
            }),
            "slice sub optimization_barrier dynamic_update_slice");
}

TEST(GuardOwnSlices, LeavesOtherUpdatesAlone) {
  EXPECT_EQ(guarded([](const Tensors& x) { return Tensors{dynamic_update_slice(x[0], x[1], starts(x))}; }),
            "dynamic_update_slice");
  EXPECT_EQ(guarded([](const Tensors& x) {
              const Tensor rows = dot_general(x[1], x[0], DotDims{.lhs_contract = {0}, .rhs_contract = {1}});
              return Tensors{dynamic_update_slice(x[0], slice(rows, {0, 0}, {2, 2}), starts(x))};
            }),
            "dot_general slice dynamic_update_slice");
}

}  // namespace
}  // namespace tenon
