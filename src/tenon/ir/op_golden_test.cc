// The StableHLO text of the first case of every op.
#include <gtest/gtest.h>

#include <map>

#include "tenon/ir/hlo_writer.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/op_cases.h"

namespace tenon {
namespace {

std::string print(const Graph& graph, const Mesh* mesh = nullptr, bool locations = false) {
  HloWriter w(*graph.trace, mesh, locations);
  const std::vector<ValueId>& params = graph.trace->region(graph.root).params;
  for (size_t i = 0; i < params.size(); ++i) w.bind(params[i], "%arg" + std::to_string(i));
  w.body(graph.root);
  return w.take();
}

// clang-format off
const std::map<std::string, std::string> kGoldens = {
    {"neg", R"(
  %0 = stablehlo.negate %arg0 : tensor<2x3xf32>
)"},
    {"abs", R"(
  %0 = stablehlo.abs %arg0 : tensor<2x3xf32>
)"},
    {"sign", R"(
  %0 = stablehlo.sign %arg0 : tensor<2x3xf32>
)"},
    {"exp", R"(
  %0 = stablehlo.exponential %arg0 : tensor<2x3xf32>
)"},
    {"expm1", R"(
  %0 = stablehlo.exponential_minus_one %arg0 : tensor<2x3xf32>
)"},
    {"log", R"(
  %0 = stablehlo.log %arg0 : tensor<2x3xf32>
)"},
    {"log1p", R"(
  %0 = stablehlo.log_plus_one %arg0 : tensor<2x3xf32>
)"},
    {"sqrt", R"(
  %0 = stablehlo.sqrt %arg0 : tensor<2x3xf32>
)"},
    {"rsqrt", R"(
  %0 = stablehlo.rsqrt %arg0 : tensor<2x3xf32>
)"},
    {"tanh", R"(
  %0 = stablehlo.tanh %arg0 : tensor<2x3xf32>
)"},
    {"logistic", R"(
  %0 = stablehlo.logistic %arg0 : tensor<2x3xf32>
)"},
    {"sin", R"(
  %0 = stablehlo.sine %arg0 : tensor<2x3xf32>
)"},
    {"cos", R"(
  %0 = stablehlo.cosine %arg0 : tensor<2x3xf32>
)"},
    {"floor", R"(
  %0 = stablehlo.floor %arg0 : tensor<2x3xf32>
)"},
    {"is_finite", R"(
  %0 = stablehlo.is_finite %arg0 : (tensor<2x3xf32>) -> tensor<2x3xi1>
)"},
    {"not", R"(
  %0 = stablehlo.not %arg0 : tensor<8xi32>
)"},
    {"add", R"(
  %0 = stablehlo.add %arg0, %arg1 : tensor<2x3xf32>
)"},
    {"sub", R"(
  %0 = stablehlo.subtract %arg0, %arg1 : tensor<2x3xf32>
)"},
    {"mul", R"(
  %0 = stablehlo.multiply %arg0, %arg1 : tensor<2x3xf32>
)"},
    {"div", R"(
  %0 = stablehlo.divide %arg0, %arg1 : tensor<2x3xf32>
)"},
    {"rem", R"(
  %0 = stablehlo.remainder %arg0, %arg1 : tensor<2x3xf32>
)"},
    {"pow", R"(
  %0 = stablehlo.power %arg0, %arg1 : tensor<2x3xf32>
)"},
    {"maximum", R"(
  %0 = stablehlo.maximum %arg0, %arg1 : tensor<2x3xf32>
)"},
    {"minimum", R"(
  %0 = stablehlo.minimum %arg0, %arg1 : tensor<2x3xf32>
)"},
    {"and", R"(
  %0 = stablehlo.and %arg0, %arg1 : tensor<8xi32>
)"},
    {"or", R"(
  %0 = stablehlo.or %arg0, %arg1 : tensor<8xi32>
)"},
    {"xor", R"(
  %0 = stablehlo.xor %arg0, %arg1 : tensor<8xi32>
)"},
    {"shift_left", R"(
  %0 = stablehlo.shift_left %arg0, %arg1 : tensor<8xi32>
)"},
    {"shift_right_logical", R"(
  %0 = stablehlo.shift_right_logical %arg0, %arg1 : tensor<8xi32>
)"},
    {"compare", R"(
  %0 = stablehlo.compare LT, %arg0, %arg1, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
)"},
    {"select", R"(
  %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<2x3xi1>, tensor<2x3xf32>
)"},
    {"convert", R"(
  %0 = stablehlo.convert %arg0 : (tensor<2x3xf32>) -> tensor<2x3xbf16>
)"},
    {"bitcast", R"(
  %0 = stablehlo.bitcast_convert %arg0 : (tensor<2x3xf32>) -> tensor<2x3xi32>
)"},
    {"constant", R"(
  %0 = stablehlo.constant dense<[[0x3EF1BBCE, 0xBF872219, 0x3FB54CDA], [0xBDE44323, 0xBFD1D53F, 0x3F553369]]> : tensor<2x3xf32>
)"},
    {"iota", R"(
  %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
)"},
    {"broadcast_in_dim", R"(
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
)"},
    {"reshape", R"(
  %0 = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<3x2xf32>
)"},
    {"transpose", R"(
  %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
)"},
    {"slice", R"(
  %0 = stablehlo.slice %arg0 [1:3:1, 0:3:1] : (tensor<3x4xf32>) -> tensor<2x3xf32>
)"},
    {"pad", R"(
  %0 = stablehlo.pad %arg0, %arg1, low = [1, 0], high = [0, 2], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x7xf32>
)"},
    {"concatenate", R"(
  %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
)"},
    {"tag", R"(
)"},
    {"stop_gradient", R"(
)"},
    {"sharding_constraint", R"(
)"},
    {"optimization_barrier", R"(
  %0:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<2x3xf32>, tensor<f32>
)"},
    {"dot_general", R"(
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
)"},
    {"reduce_sum", R"(
  %0 = stablehlo.constant dense<0x00000000> : tensor<f32>
  %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
)"},
    {"reduce_prod", R"(
  %0 = stablehlo.constant dense<0x3F800000> : tensor<f32>
  %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.multiply across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
)"},
    {"reduce_max", R"(
  %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
)"},
    {"reduce_min", R"(
  %0 = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.minimum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
)"},
    {"reduce_and", R"(
  %0 = stablehlo.constant dense<true> : tensor<i1>
  %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.and across dimensions = [1] : (tensor<4x2xi1>, tensor<i1>) -> tensor<4xi1>
)"},
    {"reduce_or", R"(
  %0 = stablehlo.constant dense<false> : tensor<i1>
  %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.or across dimensions = [1] : (tensor<4x2xi1>, tensor<i1>) -> tensor<4xi1>
)"},
    {"sort", R"(
  %7 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = false}> ({
    ^bb0(%0: tensor<f32>, %1: tensor<f32>):
      %2 = stablehlo.compare LT, %0, %1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.compare NE, %1, %1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.compare EQ, %0, %0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %5 = stablehlo.and %3, %4 : tensor<i1>
      %6 = stablehlo.or %2, %5 : tensor<i1>
      stablehlo.return %6 : tensor<i1>
    }) : (tensor<2x5xf32>) -> tensor<2x5xf32>
)"},
    {"dynamic_slice", R"(
  %0 = stablehlo.dynamic_slice %arg0, %arg1, %arg2, sizes = [2, 2] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
)"},
    {"dynamic_update_slice", R"(
  %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg3 : (tensor<3x4xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
)"},
    {"take", R"(
  %0 = stablehlo.reshape %arg1 : (tensor<2x2xi32>) -> tensor<2x2x1xi32>
  %1 = "stablehlo.gather"(%arg0, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 2>}> : (tensor<3x2xf32>, tensor<2x2x1xi32>) -> tensor<2x2x2xf32>
)"},
    {"scatter_add_rows", R"(
  %5 = stablehlo.reshape %arg0 : (tensor<2x2xi32>) -> tensor<2x2x1xi32>
  %0 = stablehlo.constant dense<0x00000000> : tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
  %6 = "stablehlo.scatter"(%1, %5, %arg1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%2: tensor<f32>, %3: tensor<f32>):
      %4 = stablehlo.add %2, %3 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<3x2xf32>, tensor<2x2x1xi32>, tensor<2x2x2xf32>) -> tensor<3x2xf32>
)"},
    {"scan", R"(
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %4 = stablehlo.constant dense<0x00000000> : tensor<f32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
  %7:4 = stablehlo.while(%1 = %0, %2 = %arg0, %3 = %arg1, %6 = %5) : tensor<i32>, tensor<2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
  cond {
    %8 = stablehlo.constant dense<3> : tensor<i32>
    %9 = stablehlo.compare LT, %1, %8, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %9 : tensor<i1>
  }
  do {
    %10 = stablehlo.constant dense<0> : tensor<i32>
    %11 = stablehlo.dynamic_slice %3, %1, %10, sizes = [1, 2] : (tensor<3x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %12 = stablehlo.reshape %11 : (tensor<1x2xf32>) -> tensor<2xf32>
    %13 = stablehlo.convert %1 : (tensor<i32>) -> tensor<f32>
    %14 = stablehlo.multiply %2, %12 : tensor<2xf32>
    %15 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %16 = stablehlo.add %14, %15 : tensor<2xf32>
    %17 = stablehlo.constant dense<1> : tensor<i32>
    %18 = stablehlo.add %1, %17 : tensor<i32>
    %19 = stablehlo.reshape %2 : (tensor<2xf32>) -> tensor<1x2xf32>
    %20 = stablehlo.dynamic_update_slice %6, %19, %1, %10 : (tensor<3x2xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<3x2xf32>
    stablehlo.return %18, %16, %3, %20 : tensor<i32>, tensor<2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
  }
)"},
    {"while", R"(
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %5:4 = stablehlo.while(%1 = %arg0, %2 = %0, %3 = %arg1, %4 = %arg2) : tensor<2xf32>, tensor<i32>, tensor<i32>, tensor<2xf32>
  cond {
    %6 = stablehlo.compare LT, %2, %3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %6 : tensor<i1>
  } do {
    %7 = stablehlo.multiply %1, %4 : tensor<2xf32>
    %8 = stablehlo.constant dense<1> : tensor<i32>
    %9 = stablehlo.add %2, %8 : tensor<i32>
    stablehlo.return %7, %9, %3, %4 : tensor<2xf32>, tensor<i32>, tensor<i32>, tensor<2xf32>
  }
)"},
    {"cond", R"(
  %0:2 = "stablehlo.if"(%arg0) ({
    %1 = stablehlo.add %arg1, %arg2 : tensor<2xf32>
    stablehlo.return %1, %arg1 : tensor<2xf32>, tensor<2xf32>
  }, {
    %2 = stablehlo.multiply %arg1, %arg2 : tensor<2xf32>
    stablehlo.return %2, %arg2 : tensor<2xf32>, tensor<2xf32>
  }) : (tensor<i1>) -> (tensor<2xf32>, tensor<2xf32>)
)"},
};
// clang-format on

TEST(OpGolden, StableHloOfEveryOp) {
  std::map<std::string, const OpCase*> first;
  for (const OpCase& c : op_cases()) first.try_emplace(c.op, &c);
  for (const OpDef* def : op_table()) {
    const std::string name(def->name);
    SCOPED_TRACE(name);
    ASSERT_TRUE(kGoldens.contains(name) && first.contains(name));
    EXPECT_EQ("\n" + print(graph_of(*first.at(name))), kGoldens.at(name));
  }
  EXPECT_EQ(kGoldens.size(), op_table().size());
}

TEST(OpGolden, DotWithBatchDimensions) {
  const std::vector<TensorType> params = {{DType::bf16, {2, 3, 4}}, {DType::bf16, {2, 4, 5}}};
  const Graph graph = make_graph(params, [](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{dot_general(x[0], x[1], {{0}, {0}, {2}, {1}}, DType::f32)};
  });
  EXPECT_EQ(print(graph),
            "  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "
            "(tensor<2x3x4xbf16>, tensor<2x4x5xbf16>) -> tensor<2x3x5xf32>\n");
}

TEST(OpGolden, ShardingConstraintNamesTheAxesThatSplit) {
  const std::vector<TensorType> params = {{DType::f32, {4, 6, 2}}};
  const Graph graph = make_graph(params, [](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{shard(x[0], PartitionSpec{{"data", "fsdp"}, "model"})};
  });
  const Mesh mesh{{"data", 2}, {"fsdp", 2}, {"model", 1}};
  EXPECT_EQ(print(graph, &mesh),
            "  %0 = sdy.sharding_constraint %arg0 <@mesh, [{\"data\", \"fsdp\"}, {}, {}]> : tensor<4x6x2xf32>\n");
}

TEST(OpGolden, LocationsCarryTheModulePath) {
  const std::vector<TensorType> params = {{DType::f32, {2}}};
  const Graph graph = make_graph(params, [](const std::vector<Tensor>& x) {
    current_trace().set_path("decoder.ffn");
    return std::vector<Tensor>{exp(x[0])};
  });
  EXPECT_EQ(print(graph, nullptr, true),
            "  %0 = stablehlo.exponential %arg0 : tensor<2xf32> loc(\"decoder.ffn/exp\")\n");
}

TEST(HloText, ConstantsKeepEveryBit) {
  EXPECT_EQ(hlo_dense(Literal::scalar(DType::f32, -0.0)), "dense<0x80000000> : tensor<f32>");
  EXPECT_EQ(hlo_dense(Literal::scalar(DType::f64, 0.1)), "dense<0x3FB999999999999A> : tensor<f64>");
  EXPECT_EQ(hlo_dense(Literal::scalar(DType::bf16, 1)), "dense<0x3F80> : tensor<bf16>");
  EXPECT_EQ(hlo_dense(Literal::scalar(DType::f8e5m2, -2)), "dense<0xC0> : tensor<f8E5M2>");
  EXPECT_EQ(hlo_dense(Literal::scalar_int(DType::u64, -1)), "dense<18446744073709551615> : tensor<ui64>");
  EXPECT_EQ(hlo_dense(Literal::scalar_int(DType::i8, -128)), "dense<-128> : tensor<i8>");
  EXPECT_EQ(hlo_dense(Literal({DType::f16, {0, 3}})), "dense<> : tensor<0x3xf16>");
  EXPECT_EQ(hlo_dense(Literal({DType::i32, {2, 2}})), "dense<0> : tensor<2x2xi32>");
  EXPECT_EQ(hlo_dense(Literal::from(DType::i32, {2, 2}, std::vector<int64_t>{1, 2, 3, 4})),
            "dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>");
  EXPECT_EQ(hlo_dense(Literal::from(DType::i1, {2}, std::vector<int64_t>{0, 1})),
            "dense<[false, true]> : tensor<2xi1>");
}

TEST(HloText, ASplatNeedsEqualBitsNotEqualValues) {
  EXPECT_EQ(hlo_dense(Literal::from(DType::f32, {2}, std::vector<double>{0.0, -0.0})),
            "dense<[0x00000000, 0x80000000]> : tensor<2xf32>");
}

}  // namespace
}  // namespace tenon
