// From traced code to something that runs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/ir/trace.h"
#include "tenon/passes/pipeline.h"
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
  // Own kernels that the program may call: those of the backend it is for.
  KernelList kernels;
  // Sees the graph on its way; may be empty.
  PassObserver pass_observer;
  // Where parameters and results lie; empty: all in device memory. What lies elsewhere must be moved (to_device,
  // to_host) before anything computes with it, and behind that.
  std::vector<MemoryKind> param_memory = {}, result_memory = {};
};

// Runs the passes on `graph` and prints it. Throws `mesh_mismatch` naming what doesn't divide,
// `shape_mismatch` when a donated parameter isn't of its result's type or lies in another memory, `out_of_memory` as
// check_largest does for any platform.
Program make_program(Graph& graph, const ProgramSpec& spec = {});

// A compiled function.
class Jitted {
 public:
  Jitted(std::shared_ptr<const Backend> backend, Executable executable)
      : backend_(std::move(backend)), executable_(std::move(executable)) {}

  // As Executable: arrays in, arrays out, asynchronous; donated arguments are gone.
  std::vector<Array> operator()(std::span<const Array> args) const { return executable_(args); }
  // Puts the arguments on the devices, runs, and reads the results.
  std::vector<Literal> operator()(std::span<const Literal> args) const;
  const Executable& executable() const { return executable_; }

 private:
  std::shared_ptr<const Backend> backend_;
  Executable executable_;
};

// Traces `body` on parameters of these types and compiles it for the first devices of `backend`, with its kernels when
// `spec` names none. Throws what tracing, make_program and compile throw.
Jitted jit(std::shared_ptr<const Backend> backend, std::span<const TensorType> params, const TensorFn& body,
           ProgramSpec spec = {}, const CompileCache* cache = nullptr);

}  // namespace tenon
