#include "tenon/stablehlo/emit.h"

#include <gmock/gmock.h>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Two layers of h = tanh(h w) in a loop, the state constrained and added to the start.
Graph small_program() {
  const std::vector<TensorType> types{{DType::f32, {4, 2}}, {DType::f32, {2, 2, 2}}};
  return make_graph(types, [](const std::vector<Tensor>& p) {
    current_trace().set_path("decoder.layers");
    const Tensor last =
        scan([](const Tensor&, const Tensor& h,
                const Tensor& w) { return std::pair<Tensor, std::vector<Tensor>>(tanh(matmul(h, w)), {}); },
             p[0], p[1])
            .first;
    return std::vector<Tensor>{shard(last, {"fsdp"}) + p[0]};
  });
}

// The loop is the same text on one device and on a mesh.
const std::string kLoop = R"(    %0 = stablehlo.constant dense<0> : tensor<i32>
    %4:3 = stablehlo.while(%1 = %0, %2 = %arg0, %3 = %arg1) : tensor<i32>, tensor<4x2xf32>, tensor<2x2x2xf32>
    cond {
      %5 = stablehlo.constant dense<2> : tensor<i32>
      %6 = stablehlo.compare LT, %1, %5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    }
    do {
      %7 = stablehlo.constant dense<0> : tensor<i32>
      %8 = stablehlo.dynamic_slice %3, %1, %7, %7, sizes = [1, 2, 2] : (tensor<2x2x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x2xf32>
      %9 = stablehlo.reshape %8 : (tensor<1x2x2xf32>) -> tensor<2x2xf32>
      %10 = stablehlo.dot_general %2, %9, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
      %11 = stablehlo.tanh %10 : tensor<4x2xf32>
      %12 = stablehlo.constant dense<1> : tensor<i32>
      %13 = stablehlo.add %1, %12 : tensor<i32>
      stablehlo.return %13, %11, %3 : tensor<i32>, tensor<4x2xf32>, tensor<2x2x2xf32>
    }
)";

TEST(Emit, OneDevice) {
  EmitOptions options;
  options.locations = false;
  EXPECT_EQ(emit_stablehlo(small_program(), options), R"(module @tenon {
  func.func public @main(%arg0: tensor<4x2xf32>, %arg1: tensor<2x2x2xf32>) -> (tensor<4x2xf32>) {
)" + kLoop + R"(    %14 = stablehlo.add %4#1, %arg0 : tensor<4x2xf32>
    return %14 : tensor<4x2xf32>
  }
}
)");
}

TEST(Emit, AMesh) {
  EmitOptions options;
  options.locations = false;
  options.mesh = Mesh{{"fsdp", 2}, {"model", 2}};
  options.param_specs = {{"fsdp"}, {{}, {"model"}}};
  options.result_specs = {{"fsdp"}};
  options.aliases = {0, std::nullopt};
  EXPECT_EQ(emit_stablehlo(small_program(), options), R"(module @tenon {
  sdy.mesh @mesh = <["fsdp"=2, "model"=2]>
  func.func public @main(%arg0: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>, tf.aliasing_output = 0 : i32}, %arg1: tensor<2x2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}) -> (tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}) {
)" + kLoop + R"(    %14 = sdy.sharding_constraint %4#1 <@mesh, [{"fsdp"}, {}]> : tensor<4x2xf32>
    %15 = stablehlo.add %14, %arg0 : tensor<4x2xf32>
    return %15 : tensor<4x2xf32>
  }
}
)");
}

TEST(Emit, LocationsAreModulePaths) {
  EmitOptions options;
  EXPECT_THAT(emit_stablehlo(small_program(), options), HasSubstr("loc(\"decoder.layers/tanh\")"));
  options.locations = false;
  EXPECT_THAT(emit_stablehlo(small_program(), options), Not(HasSubstr("loc(")));
}

// Accounts of memory go by it.
TEST(Emit, WhatALoopKeepsIsLocatedWhereItIsMade) {
  const std::vector<TensorType> types{{DType::f32, {2}}, {DType::f32, {3, 2}}};
  const Graph graph = make_graph(types, [](const std::vector<Tensor>& p) {
    const auto body = [](const Tensor&, const Tensor& h, const Tensor& w) {
      current_trace().set_path("decoder.layers");
      const Tensor y = tanh(h * w);
      return std::pair<Tensor, std::vector<Tensor>>(y, {exp(w), h});
    };
    return scan(body, p[0], p[1]).second;
  });
  const std::string text = emit_stablehlo(graph, {});
  // `h` is the step's before.
  for (const std::string op : {"exp", "tanh"}) {
    for (const std::string line : {"dynamic_update_slice", "broadcast_in_dim"}) {
      EXPECT_THAT(text, ContainsRegex(line + " [^\n]* loc\\(\"decoder.layers/" + op + "\"\\)\n"));
    }
  }
}

// The product's and its operands' gradients'.
TEST(Emit, GradientsOfAFullProductAreFull) {
  const auto times = [](std::string_view text, std::string_view part) {
    int out = 0;
    for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++out;
    return out;
  };
  for (const DotPrecision precision : {DotPrecision::full, DotPrecision::fast}) {
    const std::vector<TensorType> types{{DType::f32, {2, 3}}, {DType::f32, {3, 4}}};
    const Graph graph = make_graph(types, [&](const std::vector<Tensor>& p) {
      const auto loss = [&](const std::vector<Tensor>& x) {
        return std::pair(sum_all(matmul(x[0], x[1], precision)), std::vector<Tensor>{});
      };
      return value_and_grad(loss, p).grads;
    });
    const std::string text = emit_stablehlo(graph, {});
    EXPECT_EQ(times(text, "stablehlo.dot_general"), 3);
    EXPECT_EQ(times(text, "precision = [HIGHEST, HIGHEST]"), precision == DotPrecision::full ? 3 : 0);
  }
}

TEST(Emit, EqualGraphsGiveEqualText) {
  EXPECT_EQ(emit_stablehlo(small_program(), {}), emit_stablehlo(small_program(), {}));
}

TEST(Emit, NoParametersAndNoResults) {
  const Graph nothing = make_graph({}, [](const auto&) { return std::vector<Tensor>{}; });
  EXPECT_EQ(emit_stablehlo(nothing, {}), "module @tenon {\n  func.func public @main() -> () {\n    return\n  }\n}\n");
}

TEST(Emit, ShardingsMustDivide) {
  EmitOptions options;
  options.mesh = Mesh{{"fsdp", 3}};
  options.param_specs = {{"fsdp"}, {}};
  const auto error = error_of([&] { emit_stablehlo(small_program(), options); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::mesh_mismatch);
  EXPECT_THAT(std::string(error->what()), HasSubstr("argument 0"));
}

}  // namespace
}  // namespace tenon
