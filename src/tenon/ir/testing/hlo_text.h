// For tests: a graph's ops as StableHLO, its parameters named %arg0, %arg1, …
#pragma once

#include <string>

#include "tenon/ir/hlo_writer.h"
#include "tenon/ir/trace.h"

namespace tenon {

inline std::string hlo_text(const Graph& graph, const Mesh* mesh = nullptr, bool locations = false) {
  HloWriter w(*graph.trace, mesh, locations);
  const std::vector<ValueId>& params = graph.trace->region(graph.root).params;
  for (size_t i = 0; i < params.size(); ++i) w.bind(params[i], "%arg" + std::to_string(i));
  w.body(graph.root);
  return w.take();
}

}  // namespace tenon
