// Programs through XLA on the CPU.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tenon/nn/testing/evaluate.h"
#include "tenon/runtime/executable.h"
#include "tenon/stablehlo/emit.h"

namespace tenon {

inline std::vector<Literal> run_compiled(const NestGraph& graph, const std::vector<Literal>& arguments) {
  Program program;
  program.text = emit_stablehlo(graph.graph, {});
  program.arg_types = graph.graph.param_types();
  program.result_types = graph.graph.result_types();
  program.arg_specs.resize(program.arg_types.size());
  program.result_specs.resize(program.result_types.size());
  const std::shared_ptr<const Backend> backend = Backend::open("cpu");
  const Executable executable = compile(backend, Mesh(), std::move(program));
  std::vector<Array> args;
  for (const Literal& x : arguments) args.push_back(Array::from_literal(backend, Mesh(), {}, x));
  std::vector<Literal> out;
  for (const Array& x : executable(args)) out.push_back(x.to_literal());
  return out;
}

}  // namespace tenon
