// Differentiation of manual regions. What every device returns is one function of what every device takes: a value that
// devices hold equal copies of counts once, so its cotangent is divided among them, and the cotangent of an input that
// they share is the sum of theirs.
#include <algorithm>

#include "tenon/autodiff/split.h"
#include "tenon/autodiff/structural.h"
#include "tenon/ir/ops.h"

namespace tenon {
namespace {

using Specs = std::vector<PartitionSpec>;

// The axes of the region that a spec leaves out.
Axis left_out(const ManualAxes& axes, const PartitionSpec& spec) {
  Axis out;
  for (const std::string& name : axes.names) {
    const bool used = std::any_of(spec.dims().begin(), spec.dims().end(), [&](const Axis& axis) {
      return std::find(axis.names.begin(), axis.names.end(), name) != axis.names.end();
    });
    if (!used) out.names.push_back(name);
  }
  return out;
}

struct ManualSplit {
  ManualAxes axes;
  Specs in, out;
  Active active;
  Split parts;
  size_t num_results = 0;

  // A saved value of each device, stacked over the devices.
  PartitionSpec saved_spec() const { return PartitionSpec{Axis(axes.names)}; }
  bool stacked(const Residual& r) const { return !r.is_param && r.index >= num_results; }
};

ManualSplit split_manual(Trace& trace, const OpInfo& op, const std::unordered_set<ValueId>& active) {
  ManualSplit s{manual_axes(op), manual_in_specs(op), manual_out_specs(op), {}, {}, op.results.size()};
  const ManualScope scope(s.axes);
  for (ValueId v : op.operands) s.active.params.push_back(active.contains(v));
  s.active.results = active_results(trace, op.regions[0], s.active.params, {});
  // Inputs and results are there anyway, and each device reads its piece of them again.
  const SplitOptions options{std::vector<bool>(op.operands.size(), true), std::vector<bool>(s.num_results, true)};
  s.parts = split(trace, op.regions[0], s.active, options);
  return s;
}

std::vector<Tensor> forward(Trace& trace, const ManualSplit& s, const std::vector<Tensor>& inputs) {
  const RegionId body =
      trace_region(trace, trace.types(trace.region(s.parts.forward).params), [&](const std::vector<Tensor>& args) {
        std::vector<Tensor> out = inline_region(trace, s.parts.forward, args);
        for (size_t i = s.num_results; i < out.size(); ++i) out[i] = expand_dims(out[i], 0);
        return out;
      });
  Specs out = s.out;
  out.resize(trace.region(body).results.size(), s.saved_spec());
  return manual_op(body, s.axes, inputs, s.in, out);
}

std::vector<Tensor> backward(Trace& trace, const ManualSplit& s, const std::vector<Tensor>& inputs,
                             const std::vector<Tensor>& results, const std::vector<Tensor>& cts) {
  const size_t num_residuals = s.parts.residuals.size();
  std::vector<Tensor> args;
  Specs in, out;
  std::vector<double> shares(num_residuals, 1);
  for (const Residual& r : s.parts.residuals) {
    args.push_back(r.is_param ? inputs[r.index] : results[r.index]);
    in.push_back(s.stacked(r) ? s.saved_spec() : r.is_param ? s.in[r.index] : s.out[r.index]);
  }
  for (size_t i = 0; i < s.num_results; ++i) {
    if (!s.active.results[i]) continue;
    args.push_back(cts[i] ? cts[i] : zeros_like(results[i]));
    in.push_back(s.out[i]);
    shares.push_back(1.0 / static_cast<double>(s.axes.mesh.shards(left_out(s.axes, s.out[i]))));
  }
  std::vector<TensorType> types;
  for (size_t i = 0; i < args.size(); ++i) {
    types.push_back({args[i].dtype(), s.axes.mesh.shard_dims(args[i].dims(), in[i])});
  }
  const ManualScope scope(s.axes);
  const RegionId body = trace_region(trace, types, [&](const std::vector<Tensor>& pieces) {
    std::vector<Tensor> local = pieces;
    for (size_t i = 0; i < local.size(); ++i) {
      if (i < num_residuals && s.stacked(s.parts.residuals[i])) local[i] = squeeze(local[i], 0);
      if (i >= num_residuals && shares[i] != 1) local[i] = local[i] * shares[i];
    }
    std::vector<Tensor> grads = inline_region(trace, s.parts.backward, local);
    size_t next = 0;
    for (size_t i = 0; i < s.in.size(); ++i) {
      if (!s.active.params[i]) continue;
      const Axis shared = left_out(s.axes, s.in[i]);
      if (s.axes.mesh.shards(shared) > 1) grads[next] = all_reduce_sum(grads[next], shared);
      ++next;
      out.push_back(s.in[i]);
    }
    return grads;
  });
  return manual_op(body, s.axes, args, in, out);
}

}  // namespace

LinearizedOp linearize_manual(Trace& trace, OpId id, const std::unordered_set<ValueId>& active) {
  const OpInfo& op = trace.op(id);
  const ManualSplit s = split_manual(trace, op, active);
  std::vector<Tensor> inputs;
  for (ValueId v : op.operands) inputs.push_back(trace.tensor(v));
  const std::vector<Tensor> results = forward(trace, s, inputs);
  LinearizedOp out;
  out.results.assign(results.begin(), results.begin() + static_cast<int64_t>(s.num_results));
  out.pullback = [&trace, s, inputs, results](const std::vector<Tensor>& cts) {
    const std::vector<Tensor> grads = backward(trace, s, inputs, results, cts);
    Linearizer::Pulled pulled;
    size_t next = 0;
    for (size_t i = 0; i < inputs.size(); ++i) pulled.operands.push_back(s.active.params[i] ? grads[next++] : Tensor());
    return pulled;
  };
  return out;
}

}  // namespace tenon
