#include "tenon/autodiff/residuals.h"

#include <algorithm>
#include <cmath>

#include "tenon/autodiff/min_cut.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"

namespace tenon {

std::vector<ValueId> uses(const Trace& trace, const OpInfo& op) {
  std::vector<ValueId> out = op.operands;
  for (RegionId region : op.regions) {
    const std::vector<ValueId> inner = captures(trace, region);
    out.insert(out.end(), inner.begin(), inner.end());
  }
  return out;
}

namespace {

// A saved byte is written and read twice each: where it is made and used, and in the stack. A CPU does about 8
// operations in the time of one byte, accelerators do more.
constexpr int64_t kFlopsPerByte = 32;
constexpr int64_t kMaxCost = int64_t{1} << 55;  // keeps sums below FlowNetwork::kInfinite

class Planner {
 public:
  Planner(const Trace& trace, const Joint& joint, const SplitOptions& options)
      : trace_(trace), joint_(joint), info_(trace.region(joint.region)), options_(options) {}

  ResidualPlan run() {
    for (OpId id : info_.ops) classify(id);
    find_needs();
    choose();
    for (ValueId v : needs_) visit(v);
    for (OpId id : info_.ops) {
      if (again_.contains(id)) plan_.recomputed.push_back(id);
    }
    return std::move(plan_);
  }

 private:
  // What may happen to the results of an op.
  struct Fate {
    Save save = Save::automatic;
    int64_t again = 0;  // cost of doing it once more
    bool never_saved = false;
  };

  bool in_loop() const { return options_.runs == Runs::in_loop; }
  bool defined_here(ValueId v) const { return trace_.value(v).region == joint_.region; }
  bool is_param(ValueId v) const { return defined_here(v) && trace_.value(v).def == kNoId; }
  bool is_cotangent(ValueId v) const { return is_param(v) && trace_.value(v).index >= joint_.num_params; }
  bool is_free_param(ValueId v) const {
    return is_param(v) && !is_cotangent(v) && options_.free_params[trace_.value(v).index];
  }

  // Backward ops are those that depend on a cotangent; the others get a fate.
  void classify(OpId id) {
    const OpInfo& op = trace_.op(id);
    bool back = false, varies = false, free = in_loop();
    for (ValueId v : uses(trace_, op)) {
      back = back || is_cotangent(v) || backward_values_.contains(v);
      varies = varies || is_param(v) || varying_.contains(v);
      free = free && (!defined_here(v) || is_free_param(v) || free_.contains(v));
    }
    if (back) {
      plan_.backward.insert(id);
      backward_values_.insert(op.results.begin(), op.results.end());
      return;
    }
    if (varies) varying_.insert(op.results.begin(), op.results.end());
    Fate fate;
    const bool is_tag = op.def->name == "tag";
    if (in_loop() && (!varies || (is_tag && free))) {
      fate.never_saved = true;
    } else {
      fate = decide(op, free);
    }
    if (fate.never_saved) free_.insert(op.results.begin(), op.results.end());
    // A tag that is kept keeps the value it names.
    const bool keeps = fate.save == Save::device || fate.save == Save::host;
    if (is_tag && keeps) plan_.tagged[op.operands[0]] = op.results[0];
    fates_.emplace(id, fate);
  }

  Fate decide(const OpInfo& op, bool free) const {
    Fate fate{trace_.remat_decision(op)};
    if (fate.save != Save::automatic) return fate;
    const double flops = op_flops(trace_, op);
    double elements = 0;
    for (ValueId v : op.results) elements += static_cast<double>(num_elements(trace_.value(v).type.dims));
    const bool expensive = op.def->recompute == Recompute::expensive;
    fate.never_saved = free && !expensive && flops <= elements;
    if (fate.never_saved) return fate;
    fate.again = expensive ? FlowNetwork::kInfinite : std::llround(std::min(flops, static_cast<double>(kMaxCost)));
    return fate;
  }

  void find_needs() {
    const auto need = [&](ValueId v) {
      v = plan_.kept(v);
      if (defined_here(v) && !is_cotangent(v) && !backward_values_.contains(v) && needed_.insert(v).second) {
        needs_.push_back(v);
      }
    };
    for (OpId id : info_.ops) {
      if (!plan_.backward.contains(id)) continue;
      for (ValueId v : uses(trace_, trace_.op(id))) need(v);
    }
    for (size_t i = joint_.num_results; i < info_.results.size(); ++i) need(info_.results[i]);
  }

  // A value is an edge from "known in the forward pass" to "known in the backward pass", as dear as saving it.
  struct Nodes {
    size_t before, after;
  };

  const Nodes& nodes(ValueId v) {
    const auto it = nodes_.find(v);
    if (it != nodes_.end()) return it->second;
    const Nodes n{net_.add_node(), net_.add_node()};
    net_.add_edge(n.before, n.after, save_cost(v));
    pending_.push_back(v);
    return nodes_.emplace(v, n).first->second;
  }

  int64_t save_cost(ValueId v) const {
    const ValueInfo& value = trace_.value(v);
    if (value.def != kNoId) {
      const Fate& fate = fates_.at(value.def);
      if (fate.never_saved || fate.save == Save::recompute) return FlowNetwork::kInfinite;
      if (fate.save != Save::automatic || is_free_result(v)) return 0;
    }
    return std::min(byte_size(value.type), kMaxCost / kFlopsPerByte) * kFlopsPerByte;
  }

  // The forward pass hands it out as it is.
  bool is_free_result(ValueId v) const {
    for (size_t i = 0; i < joint_.num_results; ++i) {
      if (info_.results[i] == v && options_.free_results[i]) return true;
    }
    return false;
  }

  // Builds the network backwards from what is needed, and cuts it.
  void choose() {
    const size_t source = net_.add_node(), sink = net_.add_node();
    for (ValueId v : needs_) net_.add_edge(nodes(v).after, sink, FlowNetwork::kInfinite);
    std::unordered_map<OpId, size_t> op_nodes;
    for (size_t next = 0; next < pending_.size(); ++next) {
      const ValueId v = pending_[next];
      const OpId def = trace_.value(v).def;
      const size_t before = nodes(v).before;
      if (def == kNoId) {
        if (!is_free_param(v)) net_.add_edge(source, before, FlowNetwork::kInfinite);
        continue;
      }
      const auto [it, added] = op_nodes.try_emplace(def, 0);
      if (added) it->second = net_.add_node();
      const size_t node = it->second;
      if (added) connect(def, node, source);
      net_.add_edge(node, before, FlowNetwork::kInfinite);
    }
    const std::vector<bool> forward_only = net_.cut(source, sink);
    for (const auto& [v, n] : nodes_) {
      if (forward_only[n.before] && !forward_only[n.after] && trace_.value(v).def != kNoId) chosen_.insert(v);
    }
  }

  void connect(OpId id, size_t node, size_t source) {
    const Fate& fate = fates_.at(id);
    const bool keep = fate.save == Save::device || fate.save == Save::host;
    net_.add_edge(source, node, keep ? FlowNetwork::kInfinite : fate.again);
    if (keep) return;
    for (ValueId v : uses(trace_, trace_.op(id))) {
      const ValueId u = plan_.kept(v);
      if (defined_here(u)) net_.add_edge(nodes(u).after, node, FlowNetwork::kInfinite);
    }
  }

  // Saves `v`, or does its op again from what that reads.
  void visit(ValueId first) {
    std::vector<ValueId> stack{first};
    while (!stack.empty()) {
      const ValueId v = plan_.kept(stack.back());
      stack.pop_back();
      if (!defined_here(v) || is_cotangent(v) || !seen_.insert(v).second) continue;
      const OpId def = trace_.value(v).def;
      if (def == kNoId || chosen_.contains(v)) {
        plan_.values.push_back(v);
        if (def == kNoId) continue;
        plan_.saved.insert(v);
        check_not_on_host(v);
        const Save save = fates_.at(def).save;
        if (save == Save::device || save == Save::host) plan_.asked.emplace(v, save);
        continue;
      }
      again_.insert(def);
      const std::vector<ValueId> read = uses(trace_, trace_.op(def));
      stack.insert(stack.end(), read.rbegin(), read.rend());
    }
  }

  // A loop can't stack what an inner loop has put on the host, nor a branch return it.
  void check_not_on_host(ValueId v) const {
    const OpInfo& op = trace_.op(trace_.value(v).def);
    if (options_.runs == Runs::once || !is_scan(op)) return;
    const ValueId inner = trace_.region(op.regions[0]).results[trace_.value(v).index];
    const OpId def = trace_.value(inner).def;
    if (def == kNoId || !is_to_host(trace_.op(def))) return;
    throw Error(ErrorCode::unsupported,
                "values kept in host memory by a loop inside a loop or a branch that is differentiated too")
        .at(std::string(trace_.path_of(op)))
        .hint("keep them on the device, or take the gradient inside the outer loop or the branch");
  }

  const Trace& trace_;
  const Joint& joint_;
  const RegionInfo& info_;
  const SplitOptions& options_;
  ResidualPlan plan_;
  std::unordered_set<ValueId> backward_values_, varying_, free_, needed_, chosen_, seen_;
  std::unordered_set<OpId> again_;
  std::unordered_map<OpId, Fate> fates_;
  std::vector<ValueId> needs_, pending_;
  FlowNetwork net_;
  std::unordered_map<ValueId, Nodes> nodes_;
};

}  // namespace

ResidualPlan plan_residuals(const Trace& trace, const Joint& joint, const SplitOptions& options) {
  return Planner(trace, joint, options).run();
}

}  // namespace tenon
