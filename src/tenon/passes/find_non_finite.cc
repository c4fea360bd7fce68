#include "tenon/passes/find_non_finite.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/ir/op_def.h"
#include "tenon/ir/ops/contract.h"
#include "tenon/ir/ops/control.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/shape.h"

namespace tenon {
namespace {

// One value in one round of the loops around it.
struct Node {
  ValueId value = 0;
  Worst worst = Worst::finite;
  size_t first_input = 0, num_inputs = 0;
  size_t place = 0;  // of its rounds
};

// Every value of every round, in the order of execution, and what it was made from.
class History {
 public:
  History(const Trace& trace, const WorstOf& worst) : trace_(trace), worst_(worst), now_(trace.num_values()) {}

  void run(RegionId root) {
    places_.emplace_back();
    for (const ValueId v : trace_.region(root).params) now_[v] = add(v, {});
    region(root);
  }
  size_t latest(ValueId v) const { return now_[v]; }
  const Node& node(size_t i) const { return nodes_[i]; }
  std::span<const size_t> inputs(size_t i) const {
    return {inputs_.data() + nodes_[i].first_input, nodes_[i].num_inputs};
  }
  const std::vector<LoopRound>& rounds(size_t i) const { return places_[nodes_[i].place]; }

 private:
  size_t add(ValueId v, const std::vector<size_t>& inputs) {
    const bool measured = is_float(trace_.value(v).type.dtype);
    nodes_.push_back(
        {v, measured ? worst_(v, places_.back()) : Worst::finite, inputs_.size(), inputs.size(), places_.size() - 1});
    inputs_.insert(inputs_.end(), inputs.begin(), inputs.end());
    return nodes_.size() - 1;
  }

  void region(RegionId id) {
    for (const OpId op_id : trace_.region(id).ops) {
      const OpInfo& op = trace_.op(op_id);
      if (is_scan(op)) {
        scan(op_id, op);
        continue;
      }
      std::vector<size_t> inputs;
      for (const ValueId v : op.operands) inputs.push_back(now_[v]);
      for (const RegionId inner : op.regions) {
        for (const ValueId v : captures(trace_, inner)) inputs.push_back(now_[v]);
      }
      for (const ValueId v : op.results) now_[v] = add(v, inputs);
    }
  }

  void scan(OpId id, const OpInfo& op) {
    const RegionInfo& body = trace_.region(op.regions[0]);
    const auto num_carry = static_cast<size_t>(scan_num_carry(op));
    const int64_t length = op.attrs.integer("length");
    const std::vector<LoopRound> outside = places_.back();
    std::vector<size_t> carry;
    for (size_t i = 0; i < num_carry; ++i) carry.push_back(now_[op.operands[i]]);
    std::vector<std::vector<size_t>> stacked(op.results.size() - num_carry);
    for (int64_t step = 0; step < length; ++step) {
      enter(outside, {id, op.attrs.flag("reverse") ? length - 1 - step : step});
      now_[body.params[0]] = add(body.params[0], {});
      for (size_t i = 0; i < op.operands.size(); ++i) {
        const ValueId param = body.params[i + 1];
        now_[param] = i < num_carry ? carry[i] : add(param, {now_[op.operands[i]]});
      }
      region(op.regions[0]);
      for (size_t i = 0; i < num_carry; ++i) carry[i] = now_[body.results[i]];
      for (size_t i = 0; i < stacked.size(); ++i) stacked[i].push_back(now_[body.results[num_carry + i]]);
    }
    places_.push_back(outside);
    for (size_t i = 0; i < op.results.size(); ++i) {
      now_[op.results[i]] = i < num_carry ? carry[i] : add(op.results[i], stacked[i - num_carry]);
    }
  }

  void enter(std::vector<LoopRound> outside, LoopRound round) {
    outside.push_back(round);
    places_.push_back(std::move(outside));
  }

  const Trace& trace_;
  const WorstOf& worst_;
  std::vector<size_t> now_;  // the node that a value is at this point of the execution
  std::vector<Node> nodes_;
  std::vector<size_t> inputs_;
  std::vector<std::vector<LoopRound>> places_;
};

class Search {
 public:
  Search(const Trace& trace, const History& history) : trace_(trace), history_(history) {}

  size_t origin(size_t target) const {
    if (worst(target) == Worst::nan) {
      const size_t first = first_of(reached({target}, Worst::nan), Worst::nan).value();
      std::vector<size_t> infinite;
      for (const size_t i : history_.inputs(first)) {
        if (worst(i) == Worst::infinite) infinite.push_back(i);
      }
      return first_of(without_constants(reached(infinite, Worst::infinite)), Worst::infinite).value_or(first);
    }
    const std::vector<size_t> all = reached({target}, Worst::infinite);
    const std::optional<size_t> first = first_of(without_constants(all), Worst::infinite);
    return first ? *first : first_of(all, Worst::infinite).value();
  }

 private:
  Worst worst(size_t i) const { return history_.node(i).worst; }

  // What leads to `from` through values that are at least this bad, and those themselves, in order of execution.
  std::vector<size_t> reached(std::vector<size_t> from, Worst least) const {
    std::vector<size_t> open = std::move(from), all;
    std::vector<bool> seen;
    while (!open.empty()) {
      const size_t i = open.back();
      open.pop_back();
      if (seen.size() <= i) seen.resize(i + 1);
      if (worst(i) < least || seen[i]) continue;
      seen[i] = true;
      all.push_back(i);
      const std::span<const size_t> inputs = history_.inputs(i);
      open.insert(open.end(), inputs.begin(), inputs.end());
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  // The first whose own inputs are all better than that.
  std::optional<size_t> first_of(const std::vector<size_t>& nodes, Worst least) const {
    for (const size_t i : nodes) {
      const std::span<const size_t> inputs = history_.inputs(i);
      if (std::none_of(inputs.begin(), inputs.end(), [&](size_t in) { return worst(in) >= least; })) return i;
    }
    return std::nullopt;
  }

  std::vector<size_t> without_constants(std::vector<size_t> nodes) const {
    std::erase_if(nodes, [&](size_t i) {
      const OpId def = trace_.value(history_.node(i).value).def;
      return def != kNoId && trace_.op(def).def->name == "constant";
    });
    return nodes;
  }

  const Trace& trace_;
  const History& history_;
};

}  // namespace

Tensor narrow_to_f32(const Tensor& x) {
  if (x.dtype() != DType::f64) return convert(x, DType::f32);
  const double most = std::numeric_limits<float>::max();
  const Tensor within = maximum(minimum(x, full_like(x, most)), full_like(x, -most));
  return convert(select(is_finite(x), within, x), DType::f32);
}

Tensor magnitude(const Tensor& x) {
  Dims all;
  for (int64_t d = 0; d < x.rank(); ++d) all.push_back(d);
  if (num_elements(x.dims()) == 0) return zeros({DType::f32, {1}});
  return reshape(narrow_to_f32(reduce_max(abs(x.dtype() == DType::f64 ? x : convert(x, DType::f32)), all)), {1});
}

Worst worst_of(double magnitude) {
  if (std::isnan(magnitude)) return Worst::nan;
  return std::isinf(magnitude) ? Worst::infinite : Worst::finite;
}

std::optional<NonFiniteOrigin> find_non_finite(const Trace& trace, RegionId root, ValueId target,
                                               const WorstOf& worst_of_value) {
  History history(trace, worst_of_value);
  history.run(root);
  const size_t end = history.latest(target);
  if (history.node(end).worst == Worst::finite) return std::nullopt;
  const size_t origin = Search(trace, history).origin(end);
  return NonFiniteOrigin{history.node(origin).value, history.node(origin).worst, history.rounds(origin)};
}

}  // namespace tenon
