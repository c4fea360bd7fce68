#include "tenon/passes/select_kernels.h"

#include <gmock/gmock.h>

#include "tenon/ir/cases/op_cases.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/hlo_text.h"
#include "tenon/ir/verify.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Two attentions at one place and one in a scan at another.
Graph attentions(const PartitionSpec& partition = {}) {
  const TensorType heads{DType::f32, {2, 4, 3, 2}}, places{DType::i32, {2, 3}};
  const std::vector<TensorType> params{heads, places};
  return make_graph(params, [&](const std::vector<Tensor>& t) {
    AttentionOptions options;
    options.partition = partition;
    const auto layer = [&](const Tensor& x) { return attention({x, x, x, t[1], t[1], t[1], t[1]}, options).context; };
    current_trace().set_path("first");
    Tensor x = layer(layer(t[0]));
    current_trace().set_path("loop");
    const std::vector<TensorType> body{{DType::i32, {}}, heads};
    const RegionId region = trace_region(
        current_trace(), body, [&](const std::vector<Tensor>& args) { return std::vector<Tensor>{layer(args[1])}; });
    return scan_op(region, 2, {x}, {});
  });
}

std::string takes_none(const KernelUse&) { return "it takes nothing"; }
std::string takes_all(const KernelUse&) { return {}; }
std::string takes_two_heads(const KernelUse& use) {
  return use.operands[0].dims == Dims{1, 2, 3, 2} ? "" : "not two heads";
}
std::vector<Tensor> call(const KernelUse& use, const std::vector<Tensor>& operands) {
  return custom_call({"my_attention", "api_version = 4 : i32"}, operands, use.results);
}
// The body, as an implementation.
std::vector<Tensor> plain(const KernelUse& use, const std::vector<Tensor>& operands) {
  return inline_region(current_trace(), use.op.regions[0], operands);
}

TEST(SelectKernels, TakesTheFirstThatAgrees) {
  Graph graph = attentions();
  const KernelList kernels{{"attention", "none", takes_none, call},
                           {"other", "other", takes_all, call},
                           {"attention", "all", takes_all, call},
                           {"attention", "late", takes_all, call}};
  const std::vector<KernelChoice> choices = select_kernels(graph, kernels, Mesh());
  ASSERT_EQ(choices.size(), 2U);
  EXPECT_EQ(to_string(choices[0]), "first: attention x2 by all (none: it takes nothing)");
  EXPECT_EQ(to_string(choices[1]), "loop: attention by all (none: it takes nothing)");
  const std::string text = hlo_text(graph);
  EXPECT_THAT(text, HasSubstr("stablehlo.custom_call @my_attention(%arg0, %arg0, %arg0, %arg1, %arg1, %arg1, %arg1) "
                              "{api_version = 4 : i32} : (tensor<2x4x3x2xf32>, "));
  EXPECT_THAT(text, HasSubstr("-> (tensor<2x4x3x2xf32>, tensor<2x4x3xf32>)\n"));
  EXPECT_THAT(text, Not(HasSubstr("stablehlo.dot_general")));
}

TEST(SelectKernels, OthersKeepTheirBody) {
  Graph graph = attentions();
  const std::vector<KernelChoice> choices = select_kernels(graph, {{"attention", "none", takes_none, call}}, Mesh());
  EXPECT_EQ(to_string(choices.at(0)), "first: attention x2 by ordinary ops (none: it takes nothing)");
  EXPECT_THAT(hlo_text(graph), HasSubstr("stablehlo.dot_general"));
  EXPECT_THAT(hlo_text(graph), Not(HasSubstr("custom_call")));
}

// An ordinary op is asked for too, on one device; only what is taken is told.
TEST(SelectKernels, TakesOrdinaryOps) {
  const TensorType matrix{DType::f32, {3, 3}};
  const auto make = [&] {
    return make_graph(std::vector<TensorType>{matrix}, [](const std::vector<Tensor>& t) {
      current_trace().set_path("dense");
      return std::vector<Tensor>{matmul(t[0], matmul(t[0], t[0]))};
    });
  };
  const KernelList kernels{{"dot_general", "none", takes_none, call}, {"dot_general", "all", takes_all, call}};
  Graph graph = make();
  const std::vector<KernelChoice> choices = select_kernels(graph, kernels, Mesh());
  ASSERT_EQ(choices.size(), 1U);
  EXPECT_EQ(to_string(choices[0]), "dense: dot_general x2 by all");
  EXPECT_THAT(hlo_text(graph), Not(HasSubstr("stablehlo.dot_general")));
  EXPECT_THAT(hlo_text(graph), HasSubstr("stablehlo.custom_call @my_attention(%arg0, %arg0) {api_version = 4 : i32} : "
                                         "(tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>"));

  Graph refused = make(), split = make();
  EXPECT_TRUE(select_kernels(refused, {kernels[0]}, Mesh()).empty());
  EXPECT_TRUE(select_kernels(split, kernels, Mesh{{"data", 2}}).empty());
  EXPECT_THAT(hlo_text(split), HasSubstr("stablehlo.dot_general"));
}

TEST(SelectKernels, LeavesBodiesAsTheyAre) {
  Graph graph = attentions();
  const std::vector<KernelChoice> choices = select_kernels(graph, {{"dot_general", "all", takes_all, call}}, Mesh());
  for (const KernelChoice& c : choices) EXPECT_EQ(c.kernel, "attention");
  EXPECT_THAT(hlo_text(graph), Not(HasSubstr("custom_call")));
}

TEST(SelectKernels, WhatIsComputedIsTheSame) {
  Graph graph = attentions();
  const std::vector<Literal> args{eighths({DType::f32, {2, 4, 3, 2}}), Literal({DType::i32, {2, 3}})};
  const std::vector<Literal> before = interpret(graph, args);
  select_kernels(graph, {{"attention", "all", takes_all, plain}}, Mesh());
  EXPECT_THAT(hlo_text(graph), HasSubstr("stablehlo.dot_general"));
  verify(graph);
  EXPECT_EQ(interpret(graph, args), before);
}

TEST(SelectKernels, CallsAreNotInterpreted) {
  Graph graph = attentions();
  select_kernels(graph, {{"attention", "all", takes_all, call}}, Mesh());
  verify(graph);
  const std::vector<Literal> args{eighths({DType::f32, {2, 4, 3, 2}}), Literal({DType::i32, {2, 3}})};
  try {
    interpret(graph, args);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    EXPECT_EQ(e.path(), "first");
    EXPECT_THAT(e.message(), HasSubstr("my_attention"));
  }
}

TEST(SelectKernels, DevicesAreAskedForTheirPart) {
  const Mesh mesh{{"data", 2}, {"model", 2}};
  Graph graph = attentions({"data", "model"});
  const std::vector<KernelChoice> choices =
      select_kernels(graph, {{"attention", "two_heads", takes_two_heads, call}}, mesh);
  EXPECT_EQ(choices.at(0).implementation, "two_heads");
  const std::string text = hlo_text(graph, &mesh);
  EXPECT_THAT(text, HasSubstr("sdy.manual_computation(%arg0, %arg0, %arg0, %arg1, %arg1, %arg1, %arg1) "
                              "in_shardings=[<@mesh, [{\"data\"}, {\"model\"}, {}, {}]>, "));
  EXPECT_THAT(text, HasSubstr("<@mesh, [{\"data\"}, {}]>] out_shardings=[<@mesh, [{\"data\"}, {\"model\"}, {}, {}]>, "
                              "<@mesh, [{\"data\"}, {\"model\"}, {}]>] manual_axes={\"data\", \"model\"} (%0: "
                              "tensor<1x2x3x2xf32>, "));
  EXPECT_THAT(text, HasSubstr("sdy.return %8#0, %8#1 : tensor<1x2x3x2xf32>, tensor<1x2x3xf32>"));
}

TEST(SelectKernels, RegionsManualOverPartOfTheMeshStayWithTheCompiler) {
  const Mesh mesh{{"data", 2}, {"model", 2}};
  const TensorType heads{DType::f32, {2, 4, 3, 2}}, places{DType::i32, {2, 3}};
  const std::vector<TensorType> params{heads, places};
  for (const auto& [axes, implementation] :
       {std::pair{std::vector<std::string>{"data"}, ""}, {std::vector<std::string>{"data", "model"}, "all"}}) {
    Graph graph = make_graph(params, [&, names = axes](const std::vector<Tensor>& t) {
      return manual(
          mesh, t, {PartitionSpec{"data"}, PartitionSpec{"data"}}, {PartitionSpec{"data"}},
          [](const std::vector<Tensor>& x) {
            return std::vector<Tensor>{attention({x[0], x[0], x[0], x[1], x[1], x[1], x[1]}, {}).context};
          },
          names);
    });
    EXPECT_EQ(select_kernels(graph, {{"attention", "all", takes_all, call}}, mesh).at(0).implementation,
              implementation);
  }
}

TEST(SelectKernels, WhatDoesNotDivideKeepsItsBody) {
  Graph graph = attentions({"data", "model"});
  const std::vector<KernelChoice> choices =
      select_kernels(graph, {{"attention", "all", takes_all, call}}, Mesh{{"model", 3}});
  EXPECT_EQ(choices.at(0).implementation, "");
  EXPECT_THAT(choices.at(0).refusals, ElementsAre(HasSubstr("every kernel: ")));
}

}  // namespace
}  // namespace tenon
