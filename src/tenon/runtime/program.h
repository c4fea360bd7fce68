// A program to compile: StableHLO text and what goes in and comes out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tenon/base/memory_kind.h"
#include "tenon/base/mesh.h"
#include "tenon/passes/select_kernels.h"
#include "tenon/pjrt/compile_options.h"
#include "tenon/runtime/largest_array.h"

namespace tenon {

struct Program {
  // A module with a public function @main. On more than one device it holds `sdy.mesh @mesh` with the mesh's axes of
  // size > 1 in the order of kMeshAxes, and sharding attributes that say what arg_specs and result_specs say.
  std::string text;
  int64_t num_devices = 1;
  // Of whole arrays, not shards.
  std::vector<TensorType> arg_types, result_types;
  std::vector<PartitionSpec> arg_specs, result_specs;
  // Where they lie, as the text says too (`mhlo.memory_kind`); empty: all in device memory.
  std::vector<MemoryKind> arg_memory, result_memory;
  // For errors; may be empty.
  std::vector<std::string> arg_names;
  // Indices of the arguments whose memory the program may take, as the text says too (`tf.aliasing_output` or
  // `jax.buffer_donor`).
  std::vector<int> donated;
  // XLA flags for this program ("xla_cpu_enable_fast_math" = "false").
  std::map<std::string, std::string> compile_options;
  // What became of its kernel ops.
  std::vector<KernelChoice> kernels;
  // Of what its ops give.
  LargestArray largest;
};

// The memory of argument or result `index` of a program whose `arg_memory` or `result_memory` this is.
MemoryKind memory_of(const std::vector<MemoryKind>& memory, size_t index);
// Bytes of all arguments in host memory, on one device of `mesh`.
int64_t host_argument_bytes(const Program& program, const Mesh& mesh);
// "argument 3 (decoder.emb.weight)".
std::string describe_argument(const Program& program, size_t index);
// A compiler's words about the program, with the module paths of the ops they are about: "decoder.norm/mul". At most
// three.
Error at_ops(Error error, const Program& program);
// Checks that lists belong together, donated arguments exist and every shape divides over the mesh. Throws
// `invalid_argument` or `mesh_mismatch`, naming the argument or result.
void validate(const Program& program, const Mesh& mesh);
// Whether it keeps values in host memory while it runs.
bool uses_host_memory(const Program& program);
// What the plugin gets: the program's flags over `default_flags`, and the devices of the mesh. `device_ids`: of the
// machine's devices in the machine's order, at least as many as the mesh has.
pjrt::CompileOptions make_compile_options(const Program& program,
                                          const std::map<std::string, std::string>& default_flags, const Mesh& mesh,
                                          const std::vector<int64_t>& device_ids);

}  // namespace tenon
