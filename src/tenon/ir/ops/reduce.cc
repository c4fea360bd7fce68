// Reductions and argmax.
#include <algorithm>

#include "tenon/ir/ops/annotate.h"
#include "tenon/ir/ops/combiner.h"
#include "tenon/ir/ops/contract.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

struct ReduceDef : OpDef {
  Combiner combiner;
};

const Combiner& reduce_combiner(const OpInfo& op) { return static_cast<const ReduceDef&>(*op.def).combiner; }

Dims kept(const Dims& dims, const Dims& reduced) {
  Dims out;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (!std::binary_search(reduced.begin(), reduced.end(), d)) out.push_back(d);
  }
  return out;
}

std::vector<TensorType> infer_dims(const InferArgs& a) {
  const Dims dims = normalize_dims(a.attrs.dims("dims"), a.operands[0].rank());
  TensorType out{a.operands[0].dtype, {}};
  for (int64_t d : kept(a.operands[0].dims, dims)) out.dims.push_back(a.operands[0].dims[static_cast<size_t>(d)]);
  return {out};
}
std::vector<TensorType> infer_number(const InferArgs& a) {
  if (a.operands[0].dtype == DType::i1) shape_error("needs numbers, got {}", to_string(a.operands[0]));
  return infer_dims(a);
}
std::vector<TensorType> infer_i1(const InferArgs& a) {
  if (a.operands[0].dtype != DType::i1) shape_error("needs i1, got {}", to_string(a.operands[0]));
  return infer_dims(a);
}

void print_reduce(HloWriter& w, const OpInfo& op) {
  const Combiner& def = reduce_combiner(op);
  const DType dtype = w.type(op.operands[0]).dtype;
  const std::string init = w.fresh();
  w.line(fmt::format("{} = stablehlo.constant {}", init, hlo_dense(def.init(dtype))));
  w.define(op, fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = {} : ({}, {}) -> {}",
                           w.names(op.operands), init, def.hlo_name, hlo_list(op.attrs.dims("dims")),
                           w.types(op.operands), hlo_type({dtype, {}}), w.type_text(op.results[0])));
}

// Result strides seen from the operand: zero along reduced dimensions.
Dims result_strides(const Dims& operand, const Dims& reduced, const Dims& result) {
  const Dims strides = row_major_strides(result);
  Dims out(operand.size(), 0);
  size_t next = 0;
  for (int64_t d : kept(operand, reduced)) out[static_cast<size_t>(d)] = strides[next++];
  return out;
}

std::vector<Literal> eval_reduce(const EvalArgs& a) {
  const Literal& x = a.operand(0);
  const Combiner& def = reduce_combiner(a.op);
  Literal out(a.results[0]);
  const Literal init = def.init(x.dtype());
  const Dims strides = result_strides(x.dims(), a.attrs().dims("dims"), out.dims());
  std::vector<double> acc(static_cast<size_t>(out.size()), is_float(x.dtype()) ? init.as_double(0) : 0);
  if (!is_float(x.dtype())) {
    for (int64_t i = 0; i < out.size(); ++i) copy_element(out, i, init, 0);
  }
  int64_t i = 0;
  for_each_index(x.dims(), [&](const Dims& index) {
    const int64_t to = flat_index(index, strides);
    if (is_float(x.dtype())) {
      double& value = acc[static_cast<size_t>(to)];
      value = def.on_float(value, x.as_double(i));
    } else {
      out.set_int(to, def.on_int(out.as_int(to), x.as_int(i), x.dtype()));
    }
    ++i;
  });
  if (is_float(x.dtype())) {
    for (int64_t k = 0; k < out.size(); ++k) out.set(k, acc[static_cast<size_t>(k)]);
  }
  return {std::move(out)};
}

Tensor spread(const Tensor& reduced, const Tensor& like, const Dims& dims) {
  return broadcast_in_dim(reduced, like.dims(), kept(like.dims(), dims));
}

std::vector<Tensor> vjp_sum(const VjpArgs& a) { return {spread(a.cotangent(), a.operand(0), a.attrs.dims("dims"))}; }

std::vector<Tensor> vjp_choice(const VjpArgs& a) {
  const Tensor& x = a.operand(0);
  const Dims& dims = a.attrs.dims("dims");
  const Tensor chosen = convert(equal(x, spread(a.results[0], x, dims)), x.dtype());
  return {chosen * spread(a.cotangent() / reduce_sum(chosen, dims), x, dims)};
}

double reduce_flops(const Trace& trace, const OpInfo& op) {
  return static_cast<double>(num_elements(trace.value(op.operands[0]).type.dims));
}

const ReduceDef kReduceSum{{"reduce_sum", infer_number, print_reduce, eval_reduce, vjp_sum, {}, reduce_flops},
                           kCombineSum};
const ReduceDef kReduceProd{
    {"reduce_prod", infer_number, print_reduce, eval_reduce, nullptr, "take the sum of logarithms", reduce_flops},
    kCombineProd};
const ReduceDef kReduceMax{{"reduce_max", infer_number, print_reduce, eval_reduce, vjp_choice, {}, reduce_flops},
                           kCombineMax};
const ReduceDef kReduceMin{{"reduce_min", infer_number, print_reduce, eval_reduce, vjp_choice, {}, reduce_flops},
                           kCombineMin};
const ReduceDef kReduceAnd{{"reduce_and", infer_i1, print_reduce, eval_reduce, nullptr, {}, reduce_flops}, kCombineAnd};
const ReduceDef kReduceOr{{"reduce_or", infer_i1, print_reduce, eval_reduce, nullptr, {}, reduce_flops}, kCombineOr};

Tensor reduce(const ReduceDef& def, const Tensor& x, const Dims& dims) {
  const Dims normal = normalize_dims(dims, x.rank());
  return normal.empty() ? x : emit1(def, {x}, {{"dims", normal}});
}

// f16, bf16 and f8 sums go through f32.
Tensor reduce_wide(const ReduceDef& def, const Tensor& x, const Dims& dims) {
  return convert(reduce(def, convert(x, accumulator(x.dtype())), dims), x.dtype());
}

Tensor keep(const Tensor& reduced, const Tensor& x, const Dims& dims) {
  Dims shape = x.dims();
  for (int64_t d : normalize_dims(dims, x.rank())) shape[static_cast<size_t>(d)] = 1;
  return reshape(reduced, shape);
}

}  // namespace

Tensor reduce_sum(const Tensor& x, Dims dims) { return reduce_wide(kReduceSum, x, dims); }
Tensor reduce_max(const Tensor& x, Dims dims) { return reduce(kReduceMax, x, dims); }
Tensor reduce_min(const Tensor& x, Dims dims) { return reduce(kReduceMin, x, dims); }
Tensor reduce_prod(const Tensor& x, Dims dims) { return reduce_wide(kReduceProd, x, dims); }
Tensor reduce_and(const Tensor& x, Dims dims) { return reduce(kReduceAnd, x, dims); }
Tensor reduce_or(const Tensor& x, Dims dims) { return reduce(kReduceOr, x, dims); }
Tensor sum_keep(const Tensor& x, Dims dims) { return keep(reduce_sum(x, dims), x, dims); }
Tensor max_keep(const Tensor& x, Dims dims) { return keep(reduce_max(x, dims), x, dims); }

Tensor mean(const Tensor& x, Dims dims) {
  int64_t count = 1;
  for (int64_t d : normalize_dims(dims, x.rank())) count *= x.dim(d);
  const Tensor sum = reduce_sum(convert(x, accumulator(x.dtype())), dims);
  return convert(sum / static_cast<double>(count), x.dtype());
}

Tensor mean_keep(const Tensor& x, Dims dims) { return keep(mean(x, dims), x, dims); }

Tensor log_softmax(const Tensor& x) {
  const Tensor shifted = x - stop_gradient(max_keep(x, {-1}));
  return shifted - log(sum_keep(exp(shifted), {-1}));
}

Tensor log_sum_exp_keep(const Tensor& x) {
  const Tensor top = stop_gradient(max_keep(x, {-1}));
  return log(sum_keep(exp(x - top), {-1})) + top;
}

Tensor sum_all(const Tensor& x) {
  Dims all;
  for (int64_t d = 0; d < x.rank(); ++d) all.push_back(d);
  return reduce_sum(x, all);
}

Tensor argmax(const Tensor& x, int64_t dim) {
  const Dims dims = normalize_dims({dim}, x.rank());
  if (x.dim(dim) == 0) shape_error("argmax: dimension {} of {} is empty", dim, to_string(x.type()));
  const Tensor index = iota({DType::i32, x.dims()}, dims[0]);
  const Tensor none = full_like(index, static_cast<double>(x.dim(dim) - 1));
  Tensor found = equal(x, broadcast_to(max_keep(x, dims), x.dims()));
  if (is_float(x.dtype())) found = logical_or(found, not_equal(x, x));
  return reduce_min(select(found, index, none), dims);
}

std::span<const OpDef* const> reduce_defs() {
  static const OpDef* const defs[] = {&kReduceSum, &kReduceProd, &kReduceMax, &kReduceMin, &kReduceAnd, &kReduceOr};
  return defs;
}

}  // namespace tenon
