#include "tenon/passes/pipeline.h"

#include "tenon/passes/cast_before_barriers.h"
#include "tenon/passes/cast_outside_loops.h"
#include "tenon/passes/cse.h"
#include "tenon/passes/dce.h"
#include "tenon/passes/guard_own_slices.h"
#include "tenon/passes/guard_slice_starts.h"
#include "tenon/passes/simplify.h"

namespace tenon {

std::span<const Pass> passes() {
  static const Pass table[] = {
      {"eliminate_dead_code", "drops what the results don't need",
       [](Graph& graph, PassContext&) { eliminate_dead_code(graph); }},
      {"eliminate_common_subexpressions", "computes once what is computed twice, unless recomputation wants it so",
       [](Graph& graph, PassContext&) { eliminate_common_subexpressions(graph); }},
      {"cast_outside_loops", "casts to fewer bytes what a loop only reads before the loop: once, and less is gathered",
       [](Graph& graph, PassContext&) { cast_outside_loops(graph); }},
      {"cast_before_barriers", "casts to fewer bytes what is computed again from before its barrier: once",
       [](Graph& graph, PassContext&) { cast_before_barriers(graph); }},
      {"cast_outside_loops", "the same for what barriers stood before",
       [](Graph& graph, PassContext&) { cast_outside_loops(graph); }},
      {"select_kernels", "puts the platform's own kernels in the place of kernel ops' bodies and of ordinary ops",
       [](Graph& graph, PassContext& c) { c.kernel_choices = select_kernels(graph, c.kernels, c.mesh); }},
      {"simplify", "rewrites ops into fewer or cheaper ones and folds constants, by the rules below",
       [](Graph& graph, PassContext&) { simplify(graph); }},
      {"guard_slice_starts", "clamps starts that may be out of bounds: XLA forgets to where it merges slices of slices",
       [](Graph& graph, PassContext&) { guard_slice_starts(graph); }},
      {"eliminate_common_subexpressions", "the same for what has become equal",
       [](Graph& graph, PassContext&) { eliminate_common_subexpressions(graph); }},
      {"eliminate_dead_code", "drops what the passes before left unused",
       [](Graph& graph, PassContext&) { eliminate_dead_code(graph); }},
      {"guard_own_slices",
       "computes an update from its own array before writing it: XLA's CPU compiler would mix the two",
       [](Graph& graph, PassContext&) { guard_own_slices(graph); }},
  };
  return table;
}

std::vector<KernelChoice> run_passes(Graph& graph, const KernelList& kernels, const Mesh& mesh,
                                     const PassObserver& observer) {
  PassContext context{kernels, mesh};
  if (observer) observer(nullptr, graph);
  for (const Pass& pass : passes()) {
    pass.run(graph, context);
    if (observer) observer(&pass, graph);
  }
  return std::move(context.kernel_choices);
}

}  // namespace tenon
