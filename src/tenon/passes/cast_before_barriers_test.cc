#include "tenon/passes/cast_before_barriers.h"

#include <gtest/gtest.h>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/verify.h"
#include "tenon/passes/pipeline.h"
#include "tenon/passes/testing/ops_of.h"
#include "tenon/passes/testing/special_values.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

// The ops behind all passes, which change no result.
std::string after(const TensorFn& body) {
  const std::vector<TensorType> inputs{{DType::f32, {2, 2}}, {DType::f32, {2, 2}}};
  Graph graph = make_graph(inputs, body);
  const std::vector<Literal> args = special_values(inputs, 1), want = interpret(graph, args);
  cast_before_barriers(graph);
  verify(graph);
  EXPECT_TRUE(same_results(interpret(graph, args), want));
  run_passes(graph, {}, Mesh());
  EXPECT_TRUE(same_results(interpret(graph, args), want));
  return ops_of(graph);
}

Tensor in_bf16(const Tensor& x) { return convert(x, DType::bf16); }

// Computed in the forward pass and again in the backward one: cast once, and so is what only the second reads.
TEST(CastBeforeBarriers, TheCastBeforeServesBehind) {
  EXPECT_EQ(after([](const Tensors& x) {
              const Tensor first = tanh(in_bf16(x[0]));
              const Tensors again = optimization_barrier({x[0], first});
              return Tensors{first, tanh(in_bf16(again[0])) + again[1]};
            }),
            "convert tanh optimization_barrier tanh add");
  EXPECT_EQ(after([](const Tensors& x) {
              const Tensors again = optimization_barrier({x[0], x[1]});
              return Tensors{in_bf16(again[0]) * in_bf16(again[1]), exp(in_bf16(again[0]))};
            }),
            "convert convert optimization_barrier mul exp");
}

TEST(CastBeforeBarriers, LeavesWhatIsReadWhole) {
  // By another op, in an inner region, as a result, in two dtypes; or widened.
  EXPECT_EQ(after([](const Tensors& x) {
              const Tensors again = optimization_barrier({x[0], x[1]});
              return Tensors{in_bf16(again[0]), exp(again[0]), again[1], in_bf16(again[1])};
            }),
            "optimization_barrier convert exp convert");
  EXPECT_EQ(after([](const Tensors& x) {
              const Tensors again = optimization_barrier({x[0], x[1]});
              return Tensors{in_bf16(again[0]), convert(again[0], DType::f16), convert(again[1], DType::f64)};
            }),
            "optimization_barrier convert convert convert");
}

// A loop that reads what is behind a barrier counts as a reader, by its casts.
TEST(CastBeforeBarriers, LoopsAreReaders) {
  const auto read_in_loop = [](const std::function<Tensor(const Tensor&)>& read) {
    return after([&](const Tensors& x) {
      const Tensor again = optimization_barrier({x[0]})[0];
      const std::vector<TensorType> types{{DType::i32, {}}, x[1].type()};
      const RegionId body =
          trace_region(current_trace(), types, [&](const Tensors& in) { return Tensors{in[1] + read(again)}; });
      return scan_op(body, 3, {x[1]}, {});
    });
  };
  EXPECT_EQ(read_in_loop([](const Tensor& t) { return convert(in_bf16(t), DType::f32); }),
            "convert optimization_barrier scan{convert add}");
  EXPECT_EQ(read_in_loop([](const Tensor& t) { return convert(in_bf16(t), DType::f32) * t; }),
            "optimization_barrier convert scan{convert mul add}");
}

}  // namespace
}  // namespace tenon
