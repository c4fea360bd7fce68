#include "tenon/runtime/jit.h"

#include "tenon/passes/dce.h"
#include "tenon/stablehlo/emit.h"

namespace tenon {

Program make_program(Graph& graph, const ProgramSpec& spec) {
  eliminate_dead_code(graph);
  Program p;
  p.num_devices = spec.mesh.num_devices();
  p.arg_types = graph.param_types();
  p.result_types = graph.result_types();
  p.arg_names = spec.param_names;
  p.arg_specs = spec.param_specs;
  p.result_specs = spec.result_specs;
  p.arg_specs.resize(p.arg_types.size());
  p.result_specs.resize(p.result_types.size());
  EmitOptions options{spec.mesh, p.arg_specs, p.result_specs, {}, true};
  options.aliases.resize(p.arg_types.size());
  for (size_t i = 0; i < spec.num_donated; ++i) {
    options.aliases[i] = static_cast<int64_t>(i);
    p.donated.push_back(static_cast<int>(i));
  }
  p.text = emit_stablehlo(graph, options);
  return p;
}

Executable jit(const std::shared_ptr<const Backend>& backend, std::span<const TensorType> params, const TensorFn& body,
               const ProgramSpec& spec, const CompileCache* cache) {
  Graph graph = make_graph(params, body);
  return compile(backend, spec.mesh, make_program(graph, spec), cache);
}

}  // namespace tenon
