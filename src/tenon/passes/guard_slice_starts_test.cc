#include "tenon/passes/guard_slice_starts.h"

#include <gtest/gtest.h>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/verify.h"
#include "tenon/passes/dce.h"
#include "tenon/passes/testing/ops_of.h"
#include "tenon/passes/testing/special_values.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

// Starts inside, at the edges and outside.
constexpr int64_t kStarts[] = {0, 1, 2, 3, 7, -1, -9};

// The ops of `body` of x f32[6,2] and a start, with the guard; results are the same, and twice is as once.
std::string guarded_starts(const TensorFn& body) {
  const std::vector<TensorType> inputs{{DType::f32, {6, 2}}, {DType::i32, {}}};
  const Graph plain = make_graph(inputs, body);
  Graph graph = make_graph(inputs, body);
  guard_slice_starts(graph);
  verify(graph);
  for (const int64_t start : kStarts) {
    std::vector<Literal> args = special_values(inputs, 1);
    args[1] = Literal::scalar_int(DType::i32, start);
    EXPECT_TRUE(same_results(interpret(graph, args), interpret(plain, args))) << start;
  }
  const std::string once = ops_of(graph);
  guard_slice_starts(graph);
  EXPECT_EQ(ops_of(graph), once);
  return once;
}

Tensor place(int64_t v) { return constant(Literal::scalar_int(DType::i32, v)); }
Tensor rows(const Tensor& x, const Tensor& start, int64_t count) {
  return dynamic_slice(x, Tensors{start, place(0)}, {count, x.dim(1)});
}

TEST(GuardSliceStarts, ClampsWhatMayBeOutside) {
  EXPECT_EQ(guarded_starts([](const Tensors& x) { return Tensors{rows(x[0], x[1], 4)}; }),
            "constant constant clamp constant dynamic_slice");
  EXPECT_EQ(guarded_starts([](const Tensors& x) {
              return Tensors{dynamic_update_slice(x[0], slice(x[0], {0, 0}, {4, 2}), Tensors{x[1], place(0)})};
            }),
            "slice constant constant clamp constant dynamic_update_slice");
  EXPECT_EQ(guarded_starts([](const Tensors& x) { return Tensors{take(x[0], x[1])}; }),
            "reshape constant broadcast_in_dim constant clamp gather");
}

TEST(GuardSliceStarts, LeavesWhatIsInside) {
  EXPECT_EQ(guarded_starts([](const Tensors& x) { return Tensors{rows(x[0], place(2), 4)}; }),
            "constant constant dynamic_slice");
  EXPECT_EQ(guarded_starts([](const Tensors& x) { return Tensors{rows(x[0], clamp(x[1], 0, 2), 4)}; }),
            "constant constant clamp constant dynamic_slice");
  EXPECT_EQ(guarded_starts(
                [](const Tensors& x) { return Tensors{take(x[0], concatenate(Tensors(2, reshape(x[1], {1})), 0))}; }),
            "reshape concatenate reshape gather");
  // Blocks of a loop: index * 2 is at most 4.
  EXPECT_EQ(guarded_starts([](const Tensors& x) {
              const RegionId body =
                  trace_region(current_trace(), std::vector<TensorType>{{DType::i32, {}}},
                               [&](const Tensors& p) { return Tensors{rows(x[0], p[0] * place(2), 2)}; });
              return scan_op(body, 3, {}, {});
            }),
            "scan{constant mul constant dynamic_slice}");
  EXPECT_EQ(guarded_starts([](const Tensors& x) {
              const RegionId body =
                  trace_region(current_trace(), std::vector<TensorType>{{DType::i32, {}}},
                               [&](const Tensors& p) { return Tensors{rows(x[0], p[0] * place(2), 2)}; });
              return scan_op(body, 4, {}, {});
            }),
            "scan{constant mul constant constant clamp constant dynamic_slice}");
}

TEST(GuardSliceStarts, ArraysOfNothing) {
  EXPECT_EQ(guarded_starts([](const Tensors& x) {
              const Tensor none = slice(x[0], {0, 0}, {0, 2});
              return Tensors{rows(none, x[1], 0)};
            }),
            "slice constant constant clamp constant dynamic_slice");
}

}  // namespace
}  // namespace tenon
