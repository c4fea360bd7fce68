// For tests: what ops a graph has.
#pragma once

#include <string>

#include "tenon/ir/op_def.h"

namespace tenon {

// The names of a region's ops in order, those of inner regions in braces: "constant scan{add} neg".
inline std::string ops_of(const Trace& trace, RegionId region) {
  std::string out;
  for (const OpId id : trace.region(region).ops) {
    const OpInfo& op = trace.op(id);
    out += (out.empty() ? "" : " ") + std::string(op.def->name);
    for (const RegionId inner : op.regions) out += "{" + ops_of(trace, inner) + "}";
  }
  return out;
}
inline std::string ops_of(const Graph& graph) { return ops_of(*graph.trace, graph.root); }

}  // namespace tenon
