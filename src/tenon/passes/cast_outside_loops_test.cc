#include "tenon/passes/cast_outside_loops.h"

#include <gtest/gtest.h>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/verify.h"
#include "tenon/passes/testing/ops_of.h"
#include "tenon/passes/testing/special_values.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

// A scan over x[0] [3,2] that carries x[1] [2]; x[2] [2] is from outside.
std::string after(const std::function<Tensor(const Tensor& carry, const Tensor& slice, const Tensor& outside)>& step) {
  const std::vector<TensorType> inputs{{DType::f32, {3, 2}}, {DType::f32, {2}}, {DType::f32, {2}}};
  Graph graph = make_graph(inputs, [&](const Tensors& x) {
    const std::vector<TensorType> types{{DType::i32, {}}, {DType::f32, {2}}, {DType::f32, {2}}};
    const RegionId body =
        trace_region(current_trace(), types, [&](const Tensors& in) { return Tensors{step(in[1], in[2], x[2])}; });
    return scan_op(body, 3, {x[1]}, {x[0]});
  });
  const std::vector<Literal> args = special_values(inputs, 1);
  const std::vector<Literal> want = interpret(graph, args);
  cast_outside_loops(graph);
  verify(graph);
  EXPECT_TRUE(same_results(interpret(graph, args), want));
  const std::string once = ops_of(graph);
  cast_outside_loops(graph);
  EXPECT_EQ(ops_of(graph), once);
  return once;
}

Tensor wide(const Tensor& x) { return convert(x, DType::f32); }
Tensor narrow(const Tensor& x) { return convert(x, DType::bf16); }

TEST(CastOutsideLoops, OfASliceAndOfAValueFromOutside) {
  EXPECT_EQ(after([](const Tensor& c, const Tensor& s, const Tensor&) { return c + wide(narrow(s)); }),
            "convert scan{convert add}");
  EXPECT_EQ(after([](const Tensor& c, const Tensor&, const Tensor& o) { return c + wide(narrow(o)); }),
            "convert scan{convert add}");
  EXPECT_EQ(after([](const Tensor& c, const Tensor&, const Tensor& o) { return c + o * wide(narrow(o)); }),
            "convert scan{convert mul add}");
}

TEST(CastOutsideLoops, LeavesOthersAlone) {
  // The carry changes; the slice is read as it is, too; the cast is to more bytes.
  EXPECT_EQ(after([](const Tensor& c, const Tensor& s, const Tensor&) { return wide(narrow(c)) + s; }),
            "scan{convert convert add}");
  EXPECT_EQ(after([](const Tensor& c, const Tensor& s, const Tensor&) { return c + s * wide(narrow(s)); }),
            "scan{convert convert mul add}");
  EXPECT_EQ(after([](const Tensor& c, const Tensor& s, const Tensor&) {
              return c + wide(convert(s, DType::f64) * 2.0);
            }).find("scan"),
            0U);
}

// A loop in a loop: of what both read, once in front of both.
TEST(CastOutsideLoops, GoesAsFarAsItCan) {
  const TensorType index{DType::i32, {}}, row{DType::f32, {2}};
  Graph graph = make_graph(std::vector<TensorType>{{DType::f32, {3, 2}}, row}, [&](const Tensors& x) {
    const auto inner = [](const Tensors& in) { return Tensors{in[1] + wide(narrow(in[2]))}; };
    const auto outer = [&](const Tensors& in) {
      const RegionId body = trace_region(current_trace(), std::vector<TensorType>{index, row, row}, inner);
      return scan_op(body, 3, {in[1]}, {x[0]});
    };
    return scan_op(trace_region(current_trace(), std::vector<TensorType>{index, row}, outer), 4, {x[1]}, {});
  });
  cast_outside_loops(graph);
  verify(graph);
  EXPECT_EQ(ops_of(graph), "convert scan{scan{convert add}}");
}

}  // namespace
}  // namespace tenon
