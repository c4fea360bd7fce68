#include "tenon/autodiff/structural.h"

#include <algorithm>

#include "tenon/autodiff/split.h"
#include "tenon/ir/ops.h"

namespace tenon {
namespace {

struct ScanSplit {
  RegionId body;
  int64_t length = 0;
  size_t num_carry = 0;
  bool reverse = false;
  std::vector<ValueId> captured;
  Active active;
  Split parts;
};

// A carry is active when it starts so or becomes so in the loop.
ScanSplit split_scan(Trace& trace, const OpInfo& op, const std::unordered_set<ValueId>& active) {
  ScanSplit s{op.regions[0],
              op.attrs.integer("length"),
              static_cast<size_t>(scan_num_carry(op)),
              op.attrs.flag("reverse"),
              active_captures(trace, op, active),
              {},
              {}};
  s.active.captures = s.captured;
  s.active.params = {false};
  for (ValueId v : op.operands) s.active.params.push_back(active.contains(v));
  for (bool changed = true; changed;) {
    changed = false;
    s.active.results = active_results(trace, s.body, s.active.params, s.captured);
    for (size_t i = 0; i < s.num_carry; ++i) {
      if (!s.active.results[i] || s.active.params[i + 1]) continue;
      s.active.params[i + 1] = true;
      changed = true;
    }
  }
  // A carry that only the start makes active still hands its cotangent through.
  for (size_t i = 0; i < s.num_carry; ++i) s.active.results[i] = s.active.params[i + 1];
  SplitOptions options{{true}, {}, Runs::in_loop};
  for (size_t i = 0; i < op.operands.size(); ++i) options.free_params.push_back(i >= s.num_carry);
  for (size_t i = 0; i < op.results.size(); ++i) options.free_results.push_back(i >= s.num_carry);
  s.parts = split(trace, s.body, s.active, options);
  return s;
}

// The reversed loop. Carried: cotangents of the active carries, then those of captures, accumulated.
class BackwardScan {
 public:
  BackwardScan(Trace& trace, const ScanSplit& split, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& forward)
      : trace_(trace), split_(split), inputs_(inputs), forward_(forward) {}

  Linearizer::Pulled run(const std::vector<Tensor>& cts) {
    start_carry(cts);
    collect_inputs(cts);
    std::vector<TensorType> types{{DType::i32, {}}};
    for (const Tensor& t : carry_) types.push_back(t.type());
    for (const Tensor& t : xs_) types.push_back({t.dtype(), {t.dims().begin() + 1, t.dims().end()}});
    const RegionId body = trace_region(trace_, types, [&](const std::vector<Tensor>& args) { return step(args); });
    return results(scan_op(body, split_.length, carry_, xs_, !split_.reverse));
  }

 private:
  void start_carry(const std::vector<Tensor>& cts) {
    for (size_t i = 0; i < split_.num_carry; ++i) {
      if (split_.active.params[i + 1]) carry_.push_back(cts[i] ? cts[i] : zeros_like(inputs_[i]));
    }
    num_carry_cts_ = carry_.size();
    for (ValueId v : split_.captured) carry_.push_back(zeros(trace_.value(v).type));
  }

  // Stacked inputs: residuals that aren't the index, then those cotangents of the active outputs that aren't zero.
  void collect_inputs(const std::vector<Tensor>& cts) {
    for (const Residual& r : split_.parts.residuals) {
      if (!r.is_param) {
        xs_.push_back(forward_[r.index]);
      } else if (r.index > 0) {
        xs_.push_back(inputs_[r.index - 1]);
      }
    }
    for (size_t i = split_.num_carry; i < split_.active.results.size(); ++i) {
      if (!split_.active.results[i]) continue;
      const TensorType& y = forward_[i].type();
      y_cts_.push_back({static_cast<bool>(cts[i]), {y.dtype, {y.dims.begin() + 1, y.dims.end()}}});
      if (cts[i]) xs_.push_back(cts[i]);
    }
  }

  std::vector<Tensor> step(const std::vector<Tensor>& args) {
    size_t next_x = 1 + carry_.size();
    std::vector<Tensor> in;
    for (const Residual& r : split_.parts.residuals)
      in.push_back(r.is_param && r.index == 0 ? args[0] : args[next_x++]);
    for (size_t i = 0; i < num_carry_cts_; ++i) in.push_back(args[1 + i]);
    for (const auto& [given, type] : y_cts_) in.push_back(given ? args[next_x++] : zeros(type));
    const std::vector<Tensor> out = inline_region(trace_, split_.parts.backward, in);
    // out: cotangents of active carries, of active xs, of captures.
    const size_t num_captured = split_.captured.size();
    std::vector<Tensor> next(out.begin(), out.begin() + static_cast<int64_t>(num_carry_cts_));
    for (size_t i = 0; i < num_captured; ++i) {
      next.push_back(add(args[1 + num_carry_cts_ + i], out[out.size() - num_captured + i]));
    }
    next.insert(next.end(), out.begin() + static_cast<int64_t>(num_carry_cts_),
                out.end() - static_cast<int64_t>(num_captured));
    return next;
  }

  Linearizer::Pulled results(const std::vector<Tensor>& out) {
    Linearizer::Pulled pulled;
    size_t carry = 0, y = carry_.size();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!split_.active.params[i + 1]) {
        pulled.operands.emplace_back();
      } else {
        pulled.operands.push_back(i < split_.num_carry ? out[carry++] : out[y++]);
      }
    }
    for (size_t i = 0; i < split_.captured.size(); ++i) {
      pulled.captured.emplace_back(split_.captured[i], out[num_carry_cts_ + i]);
    }
    return pulled;
  }

  Trace& trace_;
  const ScanSplit& split_;
  const std::vector<Tensor>&inputs_, &forward_;
  std::vector<Tensor> carry_, xs_;
  std::vector<std::pair<bool, TensorType>> y_cts_;  // of each active output: is there a cotangent, and of what type
  size_t num_carry_cts_ = 0;
};

std::vector<Tensor> operand_tensors(Trace& trace, const OpInfo& op) {
  std::vector<Tensor> out;
  for (ValueId v : op.operands) out.push_back(trace.tensor(v));
  return out;
}

}  // namespace

std::vector<ValueId> active_captures(const Trace& trace, const OpInfo& op, const std::unordered_set<ValueId>& active) {
  std::vector<ValueId> out;
  for (RegionId region : op.regions) {
    for (ValueId v : captures(trace, region)) {
      if (active.contains(v) && std::find(out.begin(), out.end(), v) == out.end()) out.push_back(v);
    }
  }
  return out;
}

std::vector<bool> active_results(Trace& trace, RegionId region, const std::vector<bool>& params,
                                 const std::vector<ValueId>& captured) {
  std::vector<bool> out;
  trace_region(trace, trace.types(trace.region(region).params), [&](const std::vector<Tensor>& args) {
    out = Linearizer(trace, region, args, params, captured).active_results();
    return std::vector<Tensor>{};
  });
  return out;
}

LinearizedOp linearize_scan(Trace& trace, OpId id, const std::unordered_set<ValueId>& active) {
  const OpInfo& op = trace.op(id);
  const ScanSplit s = split_scan(trace, op, active);
  const std::vector<Tensor> inputs = operand_tensors(trace, op);
  const auto carry_end = inputs.begin() + static_cast<int64_t>(s.num_carry);
  const std::vector<Tensor> forward =
      scan_op(s.parts.forward, s.length, {inputs.begin(), carry_end}, {carry_end, inputs.end()}, s.reverse);
  LinearizedOp out;
  out.results.assign(forward.begin(), forward.begin() + static_cast<int64_t>(op.results.size()));
  out.pullback = [&trace, s, inputs, forward](const std::vector<Tensor>& cts) {
    return BackwardScan(trace, s, inputs, forward).run(cts);
  };
  return out;
}

StructuralRule structural_rule(const OpInfo& op) {
  return is_scan(op) ? linearize_scan : is_branch(op) ? linearize_branch : is_manual(op) ? linearize_manual : nullptr;
}

}  // namespace tenon
