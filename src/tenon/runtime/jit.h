// From traced code to something that runs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/ir/trace.h"
#include "tenon/runtime/executable.h"

namespace tenon {

struct ProgramSpec {
  Mesh mesh;
  // One per parameter and result, or empty: replicated.
  std::vector<PartitionSpec> param_specs, result_specs;
  // For errors; may be empty.
  std::vector<std::string> param_names;
  // Parameter i of the first so many gives its memory to result i.
  size_t num_donated = 0;
};

// Optimizes and prints `graph`. Throws `mesh_mismatch` naming what doesn't divide.
Program make_program(Graph& graph, const ProgramSpec& spec);

// Traces `body` on parameters of these types and compiles it for the first devices of `backend`.
Executable jit(const std::shared_ptr<const Backend>& backend, std::span<const TensorType> params, const TensorFn& body,
               const ProgramSpec& spec = {}, const CompileCache* cache = nullptr);

}  // namespace tenon
