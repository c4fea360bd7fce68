// custom_vjp. Regions: forward (inputs -> results, residuals computed for it) and backward (residuals, cotangents of
// the float results -> cotangents). Attribute `residuals` says what each residual is: result i of the op, or input -1 -
// i; `cotangents`, which inputs the backward region gives one for.
#include "tenon/ir/ops/custom_vjp.h"

#include <algorithm>

#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

std::vector<TensorType> types(const std::vector<Tensor>& values) {
  std::vector<TensorType> out;
  for (const Tensor& t : values) out.push_back(t.type());
  return out;
}

std::vector<TensorType> infer_custom_vjp(const InferArgs& a) {
  const RegionInfo &forward = a.trace.region(a.regions[0]), &backward = a.trace.region(a.regions[1]);
  const std::vector<TensorType> results = a.trace.types(forward.results);
  if (a.trace.types(forward.params) != a.operands) shape_error("the forward function takes other types");
  std::vector<TensorType> given, wanted;
  for (int64_t r : a.attrs.dims("residuals"))
    given.push_back(r < 0 ? a.operands.at(as_size(-1 - r)) : results.at(as_size(r)));
  for (size_t i = 0; i < as_size(a.attrs.integer("num_results")); ++i) {
    if (is_float(results[i].dtype)) given.push_back(results[i]);
  }
  for (int64_t i : a.attrs.dims("cotangents")) wanted.push_back(a.operands.at(as_size(i)));
  if (a.trace.types(backward.params) != given) shape_error("the backward function takes other types");
  const std::vector<TensorType> has = a.trace.types(backward.results);
  for (size_t i = 0; i < has.size(); ++i) {
    if (i >= wanted.size() || has[i] != wanted[i] || !is_float(has[i].dtype)) {
      shape_error("the backward function gives a cotangent of {} for input {} of {}", to_string(has[i]),
                  a.attrs.dims("cotangents").at(i), to_string(wanted.at(i)));
    }
  }
  return results;
}

// The body stands where the op does.
void print_custom_vjp(HloWriter& w, const OpInfo& op) { w.body_in_place(op, op.regions[0]); }

std::vector<Literal> eval_custom_vjp(const EvalArgs& a) {
  std::vector<Literal> inputs;
  for (const Literal* x : a.operands) inputs.push_back(*x);
  return a.run(a.op.regions[0], std::move(inputs));
}

std::vector<Tensor> vjp_custom_vjp(const VjpArgs& a) {
  const auto num_results = as_size(a.attrs.integer("num_results"));
  for (size_t i = num_results; i < a.cotangents.size(); ++i) {
    if (!a.cotangents[i]) continue;
    throw Error(ErrorCode::not_differentiable,
                "custom_vjp: the backward pass depends on a residual that isn't an input "
                "or a result, and this was differentiated again")
        .at(std::string(current_trace().path()))
        .hint("let the backward function start from inputs and results");
  }
  std::vector<Tensor> args;
  for (int64_t r : a.attrs.dims("residuals"))
    args.push_back(r < 0 ? a.operands[as_size(-1 - r)] : a.results[as_size(r)]);
  for (size_t i = 0; i < num_results; ++i) {
    if (is_float(a.results[i].dtype())) args.push_back(a.cotangents[i] ? a.cotangents[i] : zeros_like(a.results[i]));
  }
  const std::vector<Tensor> given = inline_region(current_trace(), a.regions[1], args);
  std::vector<Tensor> out(a.operands.size());
  const Dims& which = a.attrs.dims("cotangents");
  for (size_t i = 0; i < which.size(); ++i) {
    if (a.active[as_size(which[i])]) out[as_size(which[i])] = given[i];
  }
  return out;
}

double flops_custom_vjp(const Trace& trace, const OpInfo& op) { return count_flops(trace, op.regions[0]); }

const OpDef kCustomVjp{"custom_vjp", infer_custom_vjp, print_custom_vjp,    eval_custom_vjp, vjp_custom_vjp,
                       {},           flops_custom_vjp, Recompute::expensive};

// Traces the forward function; fills in what its residuals are.
RegionId trace_forward(Trace& trace, const std::vector<Tensor>& inputs, const CustomVjp& rule, int64_t& num_results,
                       Dims& residuals, std::vector<TensorType>& residual_types) {
  return trace_region(trace, types(inputs), [&](const std::vector<Tensor>& params) {
    const CustomVjp::Forward forward = rule.forward(params);
    std::vector<Tensor> out = forward.results;
    num_results = static_cast<int64_t>(out.size());
    for (const Tensor& r : forward.residuals) {
      residual_types.push_back(r.type());
      const auto input = std::find(params.begin(), params.end(), r);
      const auto result = std::find(out.begin(), out.end(), r);
      if (input != params.end()) {
        residuals.push_back(-1 - (input - params.begin()));
      } else {
        residuals.push_back(result - out.begin());
        if (result == out.end()) out.push_back(r);
      }
    }
    return out;
  });
}

void check_captures(const Trace& trace, RegionId forward) {
  for (ValueId v : captures(trace, forward)) {
    if (!is_float(trace.value(v).type.dtype)) continue;
    throw Error(ErrorCode::wrong_context,
                fmt::format("custom_vjp: the forward function uses a {} from outside", to_string(trace.value(v).type)))
        .at(std::string(trace.path()))
        .hint("pass it as an input; the backward function may leave its cotangent empty");
  }
}

}  // namespace

std::vector<Tensor> custom_vjp(const std::vector<Tensor>& inputs, const CustomVjp& rule) {
  Trace& trace = current_trace();
  int64_t num_results = 0;
  Dims residuals, cotangents;
  std::vector<TensorType> backward_types;
  const RegionId forward = trace_forward(trace, inputs, rule, num_results, residuals, backward_types);
  check_captures(trace, forward);
  const size_t num_residuals = residuals.size();
  const std::vector<TensorType> results = trace.types(trace.region(forward).results);
  for (size_t i = 0; i < as_size(num_results); ++i) {
    if (is_float(results[i].dtype)) backward_types.push_back(results[i]);
  }
  const RegionId backward = trace_region(trace, backward_types, [&](const std::vector<Tensor>& params) {
    std::vector<Tensor> cts;
    size_t next = num_residuals;
    for (size_t i = 0; i < as_size(num_results); ++i)
      cts.push_back(is_float(results[i].dtype) ? params[next++] : Tensor());
    const std::vector<Tensor> given =
        rule.backward({params.begin(), params.begin() + static_cast<int64_t>(num_residuals)}, cts);
    if (given.size() != inputs.size()) {
      shape_error("custom_vjp: the backward function gives {} cotangents for {} inputs", given.size(), inputs.size());
    }
    std::vector<Tensor> out;
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i]) continue;
      cotangents.push_back(static_cast<int64_t>(i));
      out.push_back(given[i]);
    }
    return out;
  });
  std::vector<Tensor> out = trace.emit(
      kCustomVjp, inputs, {{"num_results", num_results}, {"residuals", residuals}, {"cotangents", cotangents}},
      {forward, backward});
  out.resize(as_size(num_results));
  return out;
}

std::span<const OpDef* const> custom_vjp_defs() {
  static const OpDef* const defs[] = {&kCustomVjp};
  return defs;
}

}  // namespace tenon
