// A graph as a StableHLO module, sharded with Shardy when there is more than one device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/base/memory_kind.h"
#include "tenon/base/mesh.h"
#include "tenon/ir/trace.h"

namespace tenon {

struct EmitOptions {
  Mesh mesh;
  // One per parameter and result, or empty: replicated.
  std::vector<PartitionSpec> param_specs, result_specs;
  // Per parameter: the result that takes over its buffer.
  std::vector<std::optional<int64_t>> aliases;
  // Module paths as MLIR locations. Off for cache keys and golden files.
  bool locations = true;
  // One per parameter and result, or empty: where they lie; device memory.
  std::vector<MemoryKind> param_memory = {}, result_memory = {};
};

// Deterministic: equal graphs and options give equal text. Throws `mesh_mismatch` naming the parameter when a sharding
// doesn't divide its dimensions.
std::string emit_stablehlo(const Graph& graph, const EmitOptions& options);

}  // namespace tenon
