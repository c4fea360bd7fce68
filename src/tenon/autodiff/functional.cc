#include "tenon/autodiff/functional.h"

#include "tenon/autodiff/remat.h"
#include "tenon/autodiff/split.h"
#include "tenon/ir/ops.h"

namespace tenon {

Vjp vjp(const TensorFn& f, const std::vector<Tensor>& inputs, const std::vector<bool>& active,
        std::optional<size_t> num_pulled) {
  check(inputs.size() == active.size(), "vjp: one flag per input");
  Trace& trace = current_trace();
  std::vector<TensorType> types;
  Active wanted;
  for (size_t i = 0; i < inputs.size(); ++i) {
    types.push_back(inputs[i].type());
    wanted.params.push_back(active[i] && is_float(inputs[i].dtype()));
  }
  const uint32_t first_scope = trace.num_remat_scopes();
  const size_t first_op = trace.num_ops();
  const RegionId region = trace_region(trace, types, f);
  check_remat_policies(trace, first_scope, first_op);
  for (ValueId v : trace.region(region).results) {
    const bool pulled = wanted.results.size() < num_pulled.value_or(trace.region(region).results.size());
    wanted.results.push_back(pulled && is_float(trace.value(v).type.dtype));
  }
  const std::vector<bool> all_params(inputs.size(), true), all_results(wanted.results.size(), true);
  const Split parts = split(trace, region, wanted, {all_params, all_results});
  const std::vector<Tensor> forward = inline_region(trace, parts.forward, inputs);

  Vjp out;
  const size_t num_results = wanted.results.size();
  out.results.assign(forward.begin(), forward.begin() + static_cast<int64_t>(num_results));
  out.pull = [&trace, parts, wanted, inputs, forward](const std::vector<Tensor>& cts) {
    std::vector<Tensor> args;
    for (const Residual& r : parts.residuals) args.push_back(r.is_param ? inputs[r.index] : forward[r.index]);
    for (size_t i = 0; i < wanted.results.size(); ++i) {
      if (wanted.results[i]) args.push_back(cts.at(i) ? cts[i] : zeros_like(forward[i]));
    }
    const std::vector<Tensor> pulled = inline_region(trace, parts.backward, args);
    std::vector<Tensor> grads;
    size_t next = 0;
    for (bool want : wanted.params) grads.push_back(want ? pulled.at(next++) : Tensor());
    return grads;
  };
  return out;
}

Tensor scalar_seed(const Tensor& value) {
  if (value.rank() != 0 || !is_float(value.dtype())) {
    throw Error(ErrorCode::shape_mismatch, "a gradient is taken of a scalar float")
        .got(to_string(value.type()))
        .hint("reduce it to a scalar first");
  }
  return full_like(value, 1.0);
}

std::vector<Tensor> gradients_or_zero(std::vector<Tensor> grads, const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i] && is_float(inputs[i].dtype())) grads[i] = zeros_like(inputs[i]);
  }
  return grads;
}

}  // namespace tenon
