#include "tenon/passes/select_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tenon/ir/op_def.h"
#include "tenon/ir/ops/manual.h"
#include "tenon/passes/rewrite.h"

namespace tenon {
namespace {

class Selector final : public Rewriter {
 public:
  Selector(Graph& graph, const KernelList& kernels, const Mesh& mesh)
      : Rewriter(graph), kernels_(kernels), mesh_(mesh) {}
  std::vector<KernelChoice> take() { return std::move(choices_); }

 private:
  void enter(OpId owner) override {
    owners_.push_back(owner);
    if (owner == kNoId) return;
    if (is_manual(trace().op(owner))) manual_.push_back(covers_mesh(owner));
    if (trace().op(owner).def->kernel != nullptr) ++body_depth_;
  }
  void leave() override {
    const OpId owner = owners_.back();
    owners_.pop_back();
    if (owner == kNoId) return;
    if (is_manual(trace().op(owner))) manual_.pop_back();
    if (trace().op(owner).def->kernel != nullptr) --body_depth_;
  }

  std::vector<Tensor> visit(OpId id) override {
    const OpInfo& op = trace().op(id);
    if (op.def->kernel == nullptr) return ordinary(op);
    KernelChoice choice{std::string(op.def->name), std::string(trace().path_of(op)), {}, {}, 1};
    std::vector<Tensor> out;
    try {
      const KernelUse use{trace(), op, local(op, op.operands, 0), local(op, op.results, op.operands.size())};
      for (const KernelImplementation& k : kernels_) {
        if (k.kernel != op.def->name) continue;
        const std::string reason = partly_split() ? "a region that is manual over part of the mesh" : k.refuse(use);
        if (reason.empty()) {
          choice.implementation = k.name;
          out = lower(k, use);
          break;
        }
        choice.refusals.push_back(fmt::format("{}: {}", k.name, reason));
      }
    } catch (const Error& e) {  // doesn't divide over the mesh
      if (e.code() != ErrorCode::mesh_mismatch) throw;
      choice.refusals.push_back(fmt::format("every kernel: {}", e.message()));
    }
    report(std::move(choice));
    return out;
  }

  // The compiler splits ordinary ops over devices, so they are asked for on one only. Kernels' bodies stay as they are.
  std::vector<Tensor> ordinary(const OpInfo& op) {
    if (split() || partly_split() || body_depth_ > 0) return {};
    for (const KernelImplementation& k : kernels_) {
      if (k.kernel != op.def->name) continue;
      const KernelUse use{trace(), op, trace().types(op.operands), trace().types(op.results)};
      if (!k.refuse(use).empty()) continue;
      report({std::string(op.def->name), std::string(trace().path_of(op)), std::string(k.name), {}, 1});
      return lower(k, use);
    }
    return {};
  }

  bool covers_mesh(OpId manual) {
    return mesh_.shards(Axis(manual_axes(trace().op(manual)).names)) == mesh_.num_devices();
  }
  bool split() const { return mesh_.num_devices() > 1 && manual_.empty(); }
  // In a manual region where the compiler still splits arrays over some axes.
  bool partly_split() const { return !manual_.empty() && !manual_.back(); }

  std::vector<Tensor> lower(const KernelImplementation& k, const KernelUse& use) {
    std::vector<Tensor> operands;
    for (const ValueId v : use.op.operands) operands.push_back(trace().tensor(v));
    if (!split()) return k.lower(use, operands);
    const std::vector<PartitionSpec> specs = kernel_specs(use.op);
    const auto results = specs.begin() + static_cast<std::ptrdiff_t>(operands.size());
    return manual(mesh_, operands, {specs.begin(), results}, {results, specs.end()},
                  [&](const std::vector<Tensor>& pieces) { return k.lower(use, pieces); });
  }

  std::vector<TensorType> local(const OpInfo& op, const std::vector<ValueId>& values, size_t first_spec) {
    if (!split()) return trace().types(values);
    const std::vector<PartitionSpec> specs = kernel_specs(op);
    std::vector<TensorType> out;
    for (size_t i = 0; i < values.size(); ++i) {
      const TensorType& type = trace().value(values[i]).type;
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

  const KernelList& kernels_;
  const Mesh& mesh_;
  std::vector<KernelChoice> choices_;
  std::vector<OpId> owners_;  // of the regions around
  std::vector<bool> manual_;  // regions around that are manual: over the whole mesh?
  int body_depth_ = 0;
};

}  // namespace

std::vector<KernelChoice> select_kernels(Graph& graph, const KernelList& kernels, const Mesh& mesh) {
  Selector selector(graph, kernels, mesh);
  selector.run();
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
