// Every op is taken by the compilers of machines that aren't here; op_parity_test.cc runs them where the plugin can
// run.
#include <gtest/gtest.h>

#include <set>

#include "tenon/ir/testing/op_cases.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/aot.h"
#include "tenon/runtime/program.h"
#include "tenon/stablehlo/emit.h"

namespace tenon {
namespace {

const Mesh kMesh{{"data", 2}, {"model", 2}};

// The first case of every op, on four devices where it is traced for them, side by side.
Graph every_op(int64_t& num_ops) {
  std::vector<const OpCase*> cases;
  std::set<std::string> seen;
  for (const OpCase& c : op_cases()) {
    if (c.mesh == kMesh && seen.insert(c.op).second) cases.push_back(&c);
  }
  for (const OpCase& c : op_cases()) {
    if (c.mesh.num_devices() == 1 && seen.insert(c.op).second) cases.push_back(&c);
  }
  num_ops = static_cast<int64_t>(seen.size());
  return graph_of(cases);
}

void expect_compiles(const char* target) {
  const AotTarget machine = AotTarget::parse(target);
  if (const auto plugin = pjrt::find_plugin(machine.platform); !plugin) GTEST_SKIP() << plugin.error().what();
  int64_t num_ops = 0;
  const Graph graph = every_op(num_ops);
  EXPECT_GT(num_ops, 85);
  EmitOptions options;
  options.mesh = kMesh;
  Program p;
  p.text = emit_stablehlo(graph, options);
  p.num_devices = kMesh.num_devices();
  p.arg_types = graph.param_types();
  p.result_types = graph.result_types();
  p.arg_specs.resize(p.arg_types.size());
  p.result_specs.resize(p.result_types.size());
  EXPECT_GT(compile_aot(machine, kMesh, p).seconds, 0);
}

TEST(SlowOpConformance, TpusTakeEveryOp) { expect_compiles("v5p:2x2x1"); }
TEST(SlowOpConformance, GpusTakeEveryOp) { expect_compiles("h100:4"); }

}  // namespace
}  // namespace tenon
