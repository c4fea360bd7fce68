#include "tenon/conformance/op_check.h"

#include "tenon/conformance/op_compare.h"
#include "tenon/ir/interpreter.h"
#include "tenon/stablehlo/emit.h"

namespace tenon {
namespace {

// As it is traced, before passes could simplify an op away.
Program program_of(const Graph& graph, const Mesh& mesh) {
  Program p;
  EmitOptions options;
  options.mesh = mesh;
  p.text = emit_stablehlo(graph, options);
  p.num_devices = mesh.num_devices();
  p.arg_types = graph.param_types();
  p.result_types = graph.result_types();
  p.arg_specs.resize(p.arg_types.size());
  p.result_specs.resize(p.result_types.size());
  return p;
}

}  // namespace

std::map<size_t, std::string> check_cases(const CheckMachine& machine, const std::vector<const OpCase*>& cases) {
  const Mesh mesh = cases.at(0)->mesh.num_devices() > 1 ? cases[0]->mesh : machine.least_mesh();
  const Graph graph = graph_of(cases);
  std::vector<Literal> inputs;
  for (const OpCase* c : cases) inputs.insert(inputs.end(), c->inputs.begin(), c->inputs.end());
  const std::optional<std::vector<Literal>> got = machine.run(mesh, program_of(graph, mesh), inputs);
  std::map<size_t, std::string> wrong;
  if (!got) return wrong;
  const std::vector<Literal> want = interpret(graph, inputs);
  size_t next = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const size_t end = next + graph_of(*cases[i]).result_types().size();
    for (; next < end; ++next) {
      const std::string words = compare_results(cases[i]->op, (*got)[next], want[next]);
      if (!words.empty()) wrong.emplace(i, words);
    }
  }
  return wrong;
}

}  // namespace tenon
