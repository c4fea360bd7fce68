#include "tenon/passes/select_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tenon/ir/op_def.h"

namespace tenon {
namespace {

class Selector {
 public:
  Selector(Trace& trace, const KernelList& kernels, const Mesh& mesh) : trace_(trace), kernels_(kernels), mesh_(mesh) {}

  // A kernel's own body is left alone: it runs only where the kernel has no call.
  void region(RegionId id) {
    for (const OpId op_id : trace_.region(id).ops) {
      const OpInfo& op = trace_.op(op_id);
      if (op.def->kernel != nullptr && select(op_id)) continue;
      for (const RegionId inner : op.regions) region(inner);
    }
  }
  std::vector<KernelChoice> take() { return std::move(choices_); }

 private:
  bool select(OpId id) {
    const OpInfo& op = trace_.op(id);
    KernelChoice choice{std::string(op.def->name), std::string(trace_.path_of(op)), {}, {}, 1};
    try {
      const KernelUse use{op, local(op, op.operands, 0), local(op, op.results, op.operands.size())};
      for (const KernelImplementation& k : kernels_) {
        if (k.kernel != op.def->name) continue;
        const std::string reason = k.refuse(use);
        if (reason.empty()) {
          choice.implementation = k.name;
          trace_.replace_attrs(id, with_call(op.attrs, k.call(use)));
          break;
        }
        choice.refusals.push_back(fmt::format("{}: {}", k.name, reason));
      }
    } catch (const Error& e) {  // doesn't divide over the mesh
      if (e.code() != ErrorCode::mesh_mismatch) throw;
      choice.refusals.push_back(fmt::format("every kernel: {}", e.message()));
    }
    report(std::move(choice));
    return !call_target(trace_.op(id)).empty();
  }

  std::vector<TensorType> local(const OpInfo& op, const std::vector<ValueId>& values, size_t first_spec) const {
    const std::vector<PartitionSpec> specs = kernel_specs(op);
    std::vector<TensorType> out;
    for (size_t i = 0; i < values.size(); ++i) {
      const TensorType& type = trace_.value(values[i]).type;
      out.push_back({type.dtype, mesh_.shard_dims(type.dims, specs[first_spec + i])});
    }
    return out;
  }

  void report(KernelChoice choice) {
    for (KernelChoice& known : choices_) {
      const int64_t count = known.count;
      known.count = choice.count;
      const bool same = known == choice;
      known.count = count + (same ? 1 : 0);
      if (same) return;
    }
    choices_.push_back(std::move(choice));
  }

  Trace& trace_;
  const KernelList& kernels_;
  const Mesh& mesh_;
  std::vector<KernelChoice> choices_;
};

}  // namespace

std::vector<KernelChoice> select_kernels(Graph& graph, const KernelList& kernels, const Mesh& mesh) {
  Selector selector(*graph.trace, kernels, mesh);
  selector.region(graph.root);
  return selector.take();
}

std::string to_string(const KernelChoice& c) {
  std::string out = fmt::format("{}{}{}{} by {}", c.path, c.path.empty() ? "" : ": ", c.kernel,
                                c.count == 1 ? "" : fmt::format(" x{}", c.count),
                                c.implementation.empty() ? "ordinary ops" : c.implementation);
  if (!c.refusals.empty()) out += fmt::format(" ({})", fmt::join(c.refusals, "; "));
  return out;
}

}  // namespace tenon
