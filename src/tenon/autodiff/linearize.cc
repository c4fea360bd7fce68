#include "tenon/autodiff/linearize.h"

#include <fmt/format.h>

#include "tenon/autodiff/structural.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"

namespace tenon {
namespace {

// Values of enclosing regions that the regions of `op` use.
std::vector<ValueId> op_captures(const Trace& trace, const OpInfo& op) {
  std::vector<ValueId> out;
  for (RegionId region : op.regions) {
    const std::vector<ValueId> inner = captures(trace, region);
    out.insert(out.end(), inner.begin(), inner.end());
  }
  return out;
}

}  // namespace

Linearizer::Linearizer(Trace& trace, RegionId region, std::span<const Tensor> args,
                       const std::vector<bool>& active_params, const std::vector<ValueId>& captures)
    : trace_(trace), captures_(captures) {
  const RegionInfo& info = trace.region(region);
  check(args.size() == info.params.size() && active_params.size() == args.size(), "one argument per parameter");
  ValueMap map;
  for (size_t i = 0; i < args.size(); ++i) {
    args_.push_back(args[i].id());
    map.set(info.params[i], args[i]);
    if (active_params[i] && is_float(args[i].dtype())) active_.insert(args[i].id());
  }
  for (ValueId v : captures) {
    if (is_float(trace.value(v).type.dtype)) active_.insert(v);
  }
  for (OpId op : info.ops) forward(op, map);
  for (ValueId v : info.results) {
    results_.push_back(map(trace, v));
    active_results_.push_back(is_active(results_.back().id()));
  }
}

bool Linearizer::any_active(const OpInfo& op) const {
  for (ValueId v : op.operands) {
    if (is_active(v)) return true;
  }
  for (ValueId v : op_captures(trace_, op)) {
    if (is_active(v)) return true;
  }
  return false;
}

void Linearizer::forward(OpId id, ValueMap& map) {
  const std::vector<Tensor> cloned = clone_op(trace_, id, map);
  if (cloned.empty()) return;
  const OpId here = trace_.value(cloned[0].id()).def;
  const OpInfo& op = trace_.op(here);
  if (!any_active(op) || op.def->name == "stop_gradient") return;
  Step step{here, cloned, {}};
  const MarkScope mark(trace_, op.mark);
  if (const auto linearize = structural_rule(op)) {
    LinearizedOp linear = linearize(trace_, here, active_);
    step.results = std::move(linear.results);
    step.pullback = std::move(linear.pullback);
    const std::vector<ValueId>& old = trace_.op(id).results;
    for (size_t i = 0; i < old.size(); ++i) map.set(old[i], step.results[i]);
  }
  bool active = false;
  for (const Tensor& t : step.results) {
    if (!is_float(t.dtype())) continue;
    active_.insert(t.id());
    active = true;
  }
  if (active) steps_.push_back(std::move(step));
}

void Linearizer::accumulate(ValueId value, const Tensor& ct) {
  if (!ct || !is_active(value)) return;
  const TensorType& type = trace_.value(value).type;
  check(ct.type() == type,
        fmt::format("a cotangent of {} for a value of {} at {}", to_string(ct.type()), to_string(type), trace_.path()));
  const auto [it, added] = cts_.try_emplace(value, ct);
  if (!added) it->second = add(it->second, ct);
}

Linearizer::Pulled Linearizer::pull_op(const Step& step, const std::vector<Tensor>& cts) {
  if (step.pullback) return step.pullback(cts);
  const OpInfo& op = trace_.op(step.op);
  if (op.def->vjp == nullptr) {
    throw Error(ErrorCode::not_differentiable, fmt::format("op '{}' has no gradient", op.def->name))
        .at(std::string(trace_.path_of(op)))
        .hint(std::string(op.def->vjp_note));
  }
  VjpArgs args{op.attrs, {}, step.results, cts, {}, op.regions};
  for (ValueId v : op.operands) {
    args.operands.push_back(trace_.tensor(v));
    args.active.push_back(is_active(v));
  }
  return {op.def->vjp(args), {}};
}

Cotangents Linearizer::pull(const std::vector<Tensor>& cotangents) {
  check(cotangents.size() == results_.size(), "one cotangent per result");
  cts_.clear();
  for (size_t i = 0; i < results_.size(); ++i) accumulate(results_[i].id(), cotangents[i]);
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    std::vector<Tensor> cts;
    bool any = false;
    for (const Tensor& r : step->results) {
      const auto it = cts_.find(r.id());
      cts.push_back(it == cts_.end() ? Tensor() : it->second);
      any = any || cts.back();
    }
    if (!any) continue;
    const OpInfo& op = trace_.op(step->op);
    const MarkScope mark(trace_, op.mark);
    const Pulled pulled = pull_op(*step, cts);
    for (size_t i = 0; i < pulled.operands.size(); ++i) accumulate(op.operands[i], pulled.operands[i]);
    for (const auto& [value, ct] : pulled.captured) accumulate(value, ct);
  }
  const auto find = [&](ValueId v) {
    const auto it = cts_.find(v);
    return it == cts_.end() ? Tensor() : it->second;
  };
  Cotangents out;
  for (ValueId v : args_) out.params.push_back(find(v));
  for (ValueId v : captures_) out.captures.push_back(find(v));
  return out;
}

}  // namespace tenon
