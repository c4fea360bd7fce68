#include "tenon/autodiff/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tenon/autodiff/linearize.h"
#include "tenon/autodiff/residuals.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"

namespace tenon {
namespace {

Joint build_joint(Trace& trace, RegionId region, const Active& active) {
  const RegionInfo& info = trace.region(region);
  Joint joint{kNoId, info.params.size(), info.results.size()};
  std::vector<TensorType> params = trace.types(info.params);
  for (size_t i = 0; i < info.results.size(); ++i) {
    if (active.results[i]) params.push_back(trace.value(info.results[i]).type);
  }
  joint.region = trace_region(trace, params, [&](const std::vector<Tensor>& args) {
    Linearizer linear(trace, region, std::span(args).first(joint.num_params), active.params, active.captures);
    std::vector<Tensor> cts(joint.num_results);
    size_t next = joint.num_params;
    for (size_t i = 0; i < joint.num_results; ++i) {
      if (active.results[i]) cts[i] = args[next++];
    }
    const Cotangents pulled = linear.pull(cts);
    std::vector<Tensor> out = linear.results();
    const auto give = [&](const Tensor& ct, const TensorType& type) { out.push_back(ct ? ct : zeros(type)); };
    for (size_t i = 0; i < joint.num_params; ++i) {
      if (active.params[i]) give(pulled.params[i], args[i].type());
    }
    for (size_t i = 0; i < active.captures.size(); ++i) give(pulled.captures[i], trace.value(active.captures[i]).type);
    return out;
  });
  return joint;
}

// Builds the forward and the backward region of a plan.
class Partitioner {
 public:
  Partitioner(Trace& trace, const Joint& joint, const SplitOptions& options)
      : trace_(trace),
        joint_(joint),
        info_(trace.region(joint.region)),
        options_(options),
        plan_(plan_residuals(trace, joint, options)) {
    find_barriers();
  }

  Split build() {
    Split out;
    out.forward = build_forward(out.residuals);
    out.backward = build_backward();
    return out;
  }

 private:
  bool defined_here(ValueId v) const { return trace_.value(v).region == joint_.region; }
  bool is_param(ValueId v) const { return defined_here(v) && trace_.value(v).def == kNoId; }

  // A conditional has its results in one memory: what a branch keeps on the host is moved after it.
  bool moves_to_host(ValueId v) const { return options_.runs != Runs::in_branch && plan_.save(v) == Save::host; }

  bool read_from_forward(ValueId v) const {
    return plan_.saved.contains(v) || (is_param(v) && trace_.value(v).index < joint_.num_params);
  }

  // Values read by recomputed ops of each remat scope. Outside loops a barrier keeps the compiler from undoing what a
  // policy asked for by common-subexpression elimination; loop bodies and branches are apart anyway. Without a policy
  // the compiler may.
  void find_barriers() {
    if (options_.runs != Runs::once) return;
    for (OpId id : plan_.recomputed) {
      const OpInfo& op = trace_.op(id);
      if (op.mark.remat_scope == kNoId) continue;
      std::vector<ValueId>& list = barriers_[op.mark.remat_scope].values;
      for (ValueId v : uses(trace_, op)) {
        const ValueId k = plan_.kept(v);
        if (read_from_forward(k) && std::find(list.begin(), list.end(), k) == list.end()) list.push_back(k);
      }
    }
  }

  // Where the forward region returns `v`; adds it to `outs` when it doesn't yet.
  size_t output_index(ValueId v, std::vector<ValueId>& outs) const {
    for (size_t i = 0; i < joint_.num_results && plan_.save(v) != Save::host; ++i) {
      if (outs[i] == v && options_.free_results[i]) return i;
    }
    outs.push_back(v);
    return outs.size() - 1;
  }

  RegionId build_forward(std::vector<Residual>& residuals) {
    std::vector<ValueId> outs(info_.results.begin(), info_.results.begin() + static_cast<int64_t>(joint_.num_results));
    for (ValueId v : plan_.values) {
      const uint32_t index = trace_.value(v).index;
      const bool free = is_param(v) && options_.free_params[index];
      residuals.push_back({free, free ? index : output_index(v, outs), plan_.save(v)});
    }
    std::set<OpId> live;
    for (ValueId v : outs) mark_live(v, live);
    std::vector<TensorType> params = trace_.types(info_.params);
    params.resize(joint_.num_params);
    return trace_region(trace_, params, [&](const std::vector<Tensor>& args) {
      ValueMap map;
      for (size_t i = 0; i < args.size(); ++i) map.set(info_.params[i], args[i]);
      for (OpId id : info_.ops) {
        if (live.contains(id)) clone_op(trace_, id, map);
      }
      std::vector<Tensor> out;
      for (size_t i = 0; i < outs.size(); ++i) {
        const bool offload = i >= joint_.num_results && moves_to_host(outs[i]);
        out.push_back(offload ? to_host(map(trace_, outs[i])) : map(trace_, outs[i]));
      }
      return out;
    });
  }

  void mark_live(ValueId v, std::set<OpId>& live) const {
    if (!defined_here(v)) return;
    const OpId def = trace_.value(v).def;
    if (def == kNoId || !live.insert(def).second) return;
    for (ValueId u : uses(trace_, trace_.op(def))) mark_live(u, live);
  }

  RegionId build_backward() {
    std::vector<ValueId> params = plan_.values;
    params.insert(params.end(), info_.params.begin() + static_cast<int64_t>(joint_.num_params), info_.params.end());
    const std::vector<TensorType> param_types = trace_.types(params);
    std::set<OpId> live;
    for (size_t i = joint_.num_results; i < info_.results.size(); ++i) mark_live(info_.results[i], live);
    return trace_region(trace_, param_types, [&](const std::vector<Tensor>& args) {
      ValueMap map;
      for (size_t i = 0; i < args.size(); ++i) {
        map.set(params[i], moves_to_host(params[i]) ? to_device(args[i]) : args[i]);
      }
      for (OpId id : info_.ops) {
        if (!plan_.backward.contains(id) || !live.contains(id)) continue;
        for (ValueId v : uses(trace_, trace_.op(id))) materialize(v, map);
        clone_op(trace_, id, map);
      }
      std::vector<Tensor> out;
      for (size_t i = joint_.num_results; i < info_.results.size(); ++i) {
        materialize(info_.results[i], map);
        out.push_back(map(trace_, info_.results[i]));
      }
      return out;
    });
  }

  // Recomputes `v` at its first use in the backward pass.
  void materialize(ValueId v, ValueMap& map) {
    if (!defined_here(v) || map.contains(v)) return;
    if (plan_.kept(v) != v) {
      map.set(v, map(trace_, plan_.kept(v)));
      return;
    }
    const OpId id = trace_.value(v).def;
    const OpInfo& op = trace_.op(id);
    const auto barrier = barriers_.find(op.mark.remat_scope);
    ValueMap local;
    for (ValueId u : uses(trace_, op)) {
      materialize(u, map);
      local.set(u, map(trace_, u));
    }
    if (barrier != barriers_.end()) {
      const std::unordered_map<ValueId, Tensor>& through = barrier->second.through(trace_, map);
      for (ValueId u : uses(trace_, op)) {
        const auto it = through.find(plan_.kept(u));
        if (it != through.end()) local.set(u, it->second);
      }
    }
    clone_op(trace_, id, local);
    for (ValueId r : op.results) map.set(r, local(trace_, r));
  }

  struct Barrier {
    std::vector<ValueId> values;
    std::unordered_map<ValueId, Tensor> barriered;
    const std::unordered_map<ValueId, Tensor>& through(Trace& trace, const ValueMap& map) {
      if (barriered.empty() && !values.empty()) {
        std::vector<Tensor> in;
        for (ValueId v : values) in.push_back(map(trace, v));
        const std::vector<Tensor> out = optimization_barrier(in);
        for (size_t i = 0; i < values.size(); ++i) barriered.emplace(values[i], out[i]);
      }
      return barriered;
    }
  };

  Trace& trace_;
  const Joint& joint_;
  const RegionInfo& info_;
  const SplitOptions& options_;
  ResidualPlan plan_;
  std::unordered_map<uint32_t, Barrier> barriers_;
};

}  // namespace

Split split(Trace& trace, RegionId region, const Active& active, const SplitOptions& options) {
  const RegionInfo& info = trace.region(region);
  check(active.params.size() == info.params.size() && active.results.size() == info.results.size() &&
            options.free_params.size() == info.params.size() && options.free_results.size() == info.results.size(),
        "split: one flag per parameter and result");
  const Joint joint = build_joint(trace, region, active);
  return Partitioner(trace, joint, options).build();
}

}  // namespace tenon
