// The graph passes in the order in which every program goes through them on its way to a compiler.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/passes/select_kernels.h"

namespace tenon {

// What passes know of the machine a program is for, and what they have to report.
struct PassContext {
  const KernelList& kernels;
  const Mesh& mesh;
  std::vector<KernelChoice> kernel_choices = {};
};

struct Pass {
  std::string_view name;
  std::string_view doc;  // one line: what it does
  // Changes the graph, which stays what ir/verify.h wants, and not a bit of what the interpreter computes with it.
  void (*run)(Graph& graph, PassContext& context);
};

// In order. A pass may stand in it twice.
std::span<const Pass> passes();

// Sees the graph after each pass, and once before the first: then `pass` is null.
using PassObserver = std::function<void(const Pass* pass, const Graph& graph)>;

// Runs all of passes(). Gradients must have been taken: tags and stop_gradient don't survive. Returns what became of
// the kernel ops.
std::vector<KernelChoice> run_passes(Graph& graph, const KernelList& kernels, const Mesh& mesh,
                                     const PassObserver& observer = {});

}  // namespace tenon
