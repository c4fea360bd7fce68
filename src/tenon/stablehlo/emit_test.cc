#include "tenon/stablehlo/emit.h"

#include <gmock/gmock.h>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two layers of h = tanh(h w) in a loop, the state constrained and added to the start.
Graph small_program() {
  const std::vector<TensorType> types{{DType::f32, {4, 2}}, {DType::f32, {2, 2, 2}}};
  return make_graph(types, [](const std::vector<Tensor>& p) {
    current_trace().set_path("decoder.layers");
    const Tensor last = scan(
                            [](const Tensor&, const Tensor& h, const Tensor& w) {
                              return std::pair<Tensor, std::vector<Tensor>>(tanh(matmul(h, w)), {});
                            },
                            p[0], p[1])
                            .first;
    return std::vector<Tensor>{shard(last, {"fsdp"}) + p[0]};
  });
}

TEST(Emit, OneDevice) {
  EmitOptions options;
  options.locations = false;
  EXPECT_EQ(emit_stablehlo(small_program(), options), R"()");
}

TEST(Emit, AMesh) {
  EmitOptions options;
  options.locations = false;
  options.mesh = Mesh{{"fsdp", 2}, {"model", 2}};
  options.param_specs = {{"fsdp"}, {{}, {"model"}}};
  options.result_specs = {{"fsdp"}};
  options.aliases = {0, std::nullopt};
  EXPECT_EQ(emit_stablehlo(small_program(), options), R"()");
}

TEST(Emit, LocationsAreModulePaths) {
  EmitOptions options;
  EXPECT_THAT(emit_stablehlo(small_program(), options), HasSubstr("loc(\"decoder.layers\")"));
  options.locations = false;
  EXPECT_THAT(emit_stablehlo(small_program(), options), Not(HasSubstr("loc(")));
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
