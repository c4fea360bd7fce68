// The StableHLO text of the first case of every op.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "tenon/base/file.h"
#include "tenon/ir/cases/op_cases.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/hlo_text.h"

namespace tenon {
namespace {

// testing/golden_ops.txt holds the text of each op under its name. After a change that is meant, write it again by
// running the test with TENON_UPDATE_GOLDEN=1.
TEST(OpGolden, StableHloOfEveryOp) {
  std::map<std::string, const OpCase*> first;
  for (const OpCase& c : op_cases()) first.try_emplace(c.op, &c);
  std::string text;
  for (const OpDef* def : op_table()) {
    const std::string name(def->name);
    ASSERT_TRUE(first.contains(name)) << name << " has no case in cases/";
    const OpCase& c = *first.at(name);
    text += "// " + name + "\n" + hlo_text(graph_of(c), c.mesh.num_devices() > 1 ? &c.mesh : nullptr);
  }
  const std::string file = std::string(TENON_SOURCE_DIR) + "/src/tenon/ir/testing/golden_ops.txt";
  if (std::getenv("TENON_UPDATE_GOLDEN") != nullptr) write_file_atomic(file, text).value();
  EXPECT_EQ(text, read_file(file).value());
}

TEST(OpGolden, DotWithBatchDimensions) {
  const std::vector<TensorType> params = {{DType::bf16, {2, 3, 4}}, {DType::bf16, {2, 4, 5}}};
  const Graph graph = make_graph(params, [](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{dot_general(x[0], x[1], {{0}, {0}, {2}, {1}}, DType::f32)};
  });
  EXPECT_EQ(hlo_text(graph),
            "  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "
            "(tensor<2x3x4xbf16>, tensor<2x4x5xbf16>) -> tensor<2x3x5xf32>\n");
}

TEST(OpGolden, DotOfFullPrecision) {
  const std::vector<TensorType> params = {{DType::f32, {2, 3}}, {DType::f32, {3, 4}}};
  const Graph graph = make_graph(
      params, [](const std::vector<Tensor>& x) { return std::vector<Tensor>{matmul(x[0], x[1], DotPrecision::full)}; });
  EXPECT_EQ(hlo_text(graph),
            "  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : "
            "(tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>\n");
}

TEST(OpGolden, ShardingConstraintNamesTheAxesThatSplit) {
  const std::vector<TensorType> params = {{DType::f32, {4, 6, 2}}};
  const Graph graph = make_graph(params, [](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{shard(x[0], PartitionSpec{{"data", "fsdp"}, "model"})};
  });
  const Mesh mesh{{"data", 2}, {"fsdp", 2}, {"model", 1}};
  EXPECT_EQ(hlo_text(graph, &mesh),
            "  %0 = sdy.sharding_constraint %arg0 <@mesh, [{\"data\", \"fsdp\"}, {}, {}]> : tensor<4x6x2xf32>\n");
}

TEST(OpGolden, LocationsCarryTheModulePath) {
  const std::vector<TensorType> params = {{DType::f32, {2}}};
  const Graph graph = make_graph(params, [](const std::vector<Tensor>& x) {
    current_trace().set_path("decoder.ffn");
    return std::vector<Tensor>{exp(x[0])};
  });
  EXPECT_EQ(hlo_text(graph, nullptr, true),
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
