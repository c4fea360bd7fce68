#include "tenon/runtime/jit.h"

#include "tenon/stablehlo/emit.h"

namespace tenon {
namespace {

void check_donated(const Program& program, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const bool fits = i < program.arg_types.size() && i < program.result_types.size();
    const MemoryKind from = memory_of(program.arg_memory, i), to = memory_of(program.result_memory, i);
    if (fits && program.arg_types[i] == program.result_types[i] && from == to) continue;
    Error e(ErrorCode::shape_mismatch, "a donated argument needs a result of its type to give its memory to");
    e.at(describe_argument(program, i));
    if (!fits) throw e;
    if (from != to) throw std::move(e).got(std::string(to_string(from))).expected(std::string(to_string(to)));
    throw std::move(e).got(to_string(program.arg_types[i])).expected(to_string(program.result_types[i]));
  }
}

}  // namespace

Program make_program(Graph& graph, const ProgramSpec& spec) {
  Program p;
  p.kernels = run_passes(graph, spec.kernels, spec.mesh, spec.pass_observer);
  p.num_devices = spec.mesh.num_devices();
  p.largest = largest_array(*graph.trace, graph.root, spec.mesh);
  check_largest(p.largest, "");
  p.arg_types = graph.param_types();
  p.result_types = graph.result_types();
  p.arg_names = spec.param_names;
  p.arg_specs = spec.param_specs;
  p.result_specs = spec.result_specs;
  p.arg_memory = spec.param_memory;
  p.result_memory = spec.result_memory;
  if (p.arg_specs.empty()) p.arg_specs.resize(p.arg_types.size());
  if (p.result_specs.empty()) p.result_specs.resize(p.result_types.size());
  check_donated(p, spec.num_donated);
  EmitOptions options{spec.mesh, p.arg_specs, p.result_specs, {}, true, p.arg_memory, p.result_memory};
  options.aliases.resize(p.arg_types.size());
  for (size_t i = 0; i < spec.num_donated; ++i) {
    options.aliases[i] = static_cast<int64_t>(i);
    p.donated.push_back(static_cast<int>(i));
  }
  p.text = emit_stablehlo(graph, options);
  return p;
}

std::vector<Literal> Jitted::operator()(std::span<const Literal> args) const {
  const std::vector<PartitionSpec>& specs = executable_.program().arg_specs;
  std::vector<Array> arrays;
  for (size_t i = 0; i < args.size(); ++i) {
    const PartitionSpec spec = i < specs.size() ? specs[i] : PartitionSpec();
    const MemoryKind memory = memory_of(executable_.program().arg_memory, i);
    arrays.push_back(Array::from_literal(backend_, executable_.mesh(), spec, args[i], memory));
  }
  std::vector<Literal> out;
  for (const Array& result : executable_(arrays)) out.push_back(result.to_literal());
  return out;
}

Jitted jit(std::shared_ptr<const Backend> backend, std::span<const TensorType> params, const TensorFn& body,
           ProgramSpec spec, const CompileCache* cache) {
  if (spec.kernels.empty()) spec.kernels = backend->kernels();
  Graph graph = make_graph(params, body);
  Executable executable = compile(backend, spec.mesh, make_program(graph, spec), cache);
  return {std::move(backend), std::move(executable)};
}

}  // namespace tenon
