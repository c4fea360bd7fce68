// Random draws on the CPU plugin: the interpreter's bits, however they are split over devices.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/executable.h"
#include "tenon/stablehlo/emit.h"

namespace tenon {
namespace {

constexpr int64_t kRows = 64, kColumns = 96;

// Draws [64,96] of every kind from a key, then from 64 keys [96] each.
Graph draws() {
  const std::vector<TensorType> params = {{DType::u32, {2}}};
  return make_graph(params, [](const std::vector<Tensor>& p) {
    const Tensor keys = fold_in(p[0], iota({DType::i32, {kRows}}, 0));
    std::vector<Tensor> out;
    for (const auto& [key, shape] :
         {std::pair{fold_in(p[0], "whole"), Dims{kRows, kColumns}}, {keys, Dims{kColumns}}}) {
      out.push_back(random_bits(key, shape));
      out.push_back(random_uniform(key, shape, DType::f32));
      out.push_back(random_uniform(key, shape, DType::bf16));
      out.push_back(random_normal(key, shape, DType::f32));
      out.push_back(random_truncated_normal(key, shape, DType::f32));
    }
    return out;
  });
}

std::vector<Literal> run_on(const std::shared_ptr<const Backend>& backend, const Mesh& mesh, const PartitionSpec& spec,
                            const Graph& graph, const Literal& key) {
  EmitOptions options;
  options.mesh = mesh;
  options.param_specs = {PartitionSpec()};
  options.result_specs.assign(graph.result_types().size(), spec);
  Program p;
  p.text = emit_stablehlo(graph, options);
  p.num_devices = mesh.num_devices();
  p.arg_types = graph.param_types();
  p.result_types = graph.result_types();
  p.arg_specs = options.param_specs;
  p.result_specs = options.result_specs;
  const Array args[] = {Array::from_literal(backend, mesh, {}, key)};
  std::vector<Literal> out;
  for (const Array& x : compile(backend, mesh, p)(args)) out.push_back(x.to_literal());
  return out;
}

TEST(RandomParity, OneDeviceAndFourGiveTheBitsOfTheInterpreter) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const Literal key = Literal::from(DType::u32, {2}, std::vector<int64_t>{0x13198a2e, 0x03707344});
  const Graph graph = draws();
  const std::vector<Literal> want = interpret(graph, std::vector<Literal>{key});
  const auto one = run_on(Backend::open("cpu"), Mesh(), {}, graph, key);
  const Mesh mesh{{"fsdp", 2}, {"model", 2}};
  const auto four = run_on(Backend::open("cpu:4"), mesh, {"fsdp", "model"}, graph, key);
  ASSERT_EQ(one.size(), want.size());
  for (size_t r = 0; r < want.size(); ++r) {
    SCOPED_TRACE(r);
    EXPECT_EQ(four[r], one[r]);
    if (r % 5 < 3) {
      EXPECT_EQ(one[r], want[r]);
      continue;
    }
    // Logarithms differ in the last places.
    for (int64_t i = 0; i < want[r].size(); ++i) ASSERT_NEAR(one[r].as_double(i), want[r].as_double(i), 4e-6) << i;
  }
}

}  // namespace
}  // namespace tenon
