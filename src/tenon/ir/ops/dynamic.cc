// dynamic_slice, dynamic_update_slice.
#include <algorithm>

#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/indexing.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

void check_starts(const InferArgs& a, size_t first, size_t rank) {
  if (a.operands.size() != first + rank) shape_error("needs {} start indices, got {}", rank, a.operands.size() - first);
  for (size_t i = first; i < a.operands.size(); ++i) {
    if (a.operands[i] != TensorType{DType::i32, {}})
      shape_error("start index {} is {}, not i32[]", i - first, to_string(a.operands[i]));
  }
}

std::vector<TensorType> infer_slice(const InferArgs& a) {
  const TensorType& x = a.operands[0];
  const Dims& sizes = a.attrs.dims("sizes");
  check_starts(a, 1, x.dims.size());
  bool fits = sizes.size() == x.dims.size();
  for (size_t d = 0; fits && d < sizes.size(); ++d) fits = sizes[d] >= 0 && sizes[d] <= x.dims[d];
  if (!fits) shape_error("{} has no slice of size {}", to_string(x), to_string(sizes));
  return {{x.dtype, sizes}};
}
void print_slice(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.dynamic_slice {}, sizes = {} : {}", w.names(op.operands),
                           hlo_list(op.attrs.dims("sizes")), w.signature(op)));
}

Dims clamped_starts(const EvalArgs& a, size_t first, const Dims& whole, const Dims& sizes) {
  Dims out;
  for (size_t d = 0; d < whole.size(); ++d) {
    out.push_back(std::clamp<int64_t>(a.operand(first + d).as_int(0), 0, whole[d] - sizes[d]));
  }
  return out;
}

std::vector<Literal> eval_slice(const EvalArgs& a) {
  const Literal& x = a.operand(0);
  Literal out(a.results[0]);
  const Dims strides = row_major_strides(x.dims());
  const int64_t origin = flat_index(clamped_starts(a, 1, x.dims(), out.dims()), strides);
  int64_t i = 0;
  for_each_index(out.dims(),
                 [&](const Dims& index) { copy_element(out, i++, x, origin + flat_index(index, strides)); });
  return {std::move(out)};
}
std::vector<Tensor> starts_of(const VjpArgs& a, size_t first) {
  return {a.operands.begin() + static_cast<int64_t>(first), a.operands.end()};
}
std::vector<Tensor> vjp_slice(const VjpArgs& a) {
  std::vector<Tensor> out(a.operands.size());
  out[0] = dynamic_update_slice(zeros_like(a.operand(0)), a.cotangent(), starts_of(a, 1));
  return out;
}

std::vector<TensorType> infer_update(const InferArgs& a) {
  const TensorType &x = a.operands[0], &update = a.operands[1];
  check_starts(a, 2, x.dims.size());
  bool fits = x.dtype == update.dtype && x.dims.size() == update.dims.size();
  for (size_t d = 0; fits && d < x.dims.size(); ++d) fits = update.dims[d] <= x.dims[d];
  if (!fits) shape_error("an update of {} doesn't fit into {}", to_string(update), to_string(x));
  return {x};
}
void print_update(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.dynamic_update_slice {} : {}", w.names(op.operands), w.signature(op)));
}
std::vector<Literal> eval_update(const EvalArgs& a) {
  const Literal& update = a.operand(1);
  Literal out = a.operand(0);
  const Dims strides = row_major_strides(out.dims());
  const int64_t origin = flat_index(clamped_starts(a, 2, out.dims(), update.dims()), strides);
  int64_t i = 0;
  for_each_index(update.dims(),
                 [&](const Dims& index) { copy_element(out, origin + flat_index(index, strides), update, i++); });
  return {std::move(out)};
}
std::vector<Tensor> vjp_update(const VjpArgs& a) {
  const std::vector<Tensor> starts = starts_of(a, 2);
  std::vector<Tensor> out(a.operands.size());
  if (a.active[0]) out[0] = dynamic_update_slice(a.cotangent(), zeros_like(a.operand(1)), starts);
  if (a.active[1]) out[1] = dynamic_slice(a.cotangent(), starts, a.operand(1).dims());
  return out;
}

const OpDef kSlice{"dynamic_slice", infer_slice, print_slice, eval_slice, vjp_slice, {}, no_flops};
const OpDef kUpdate{"dynamic_update_slice", infer_update, print_update, eval_update, vjp_update, {}, no_flops,
                    Recompute::expensive};

std::vector<Tensor> first_dim_starts(const Tensor& x, const Tensor& index) {
  std::vector<Tensor> starts(static_cast<size_t>(x.rank()), zeros({DType::i32, {}}));
  starts.at(0) = index;
  return starts;
}

}  // namespace

Tensor dynamic_slice(const Tensor& x, std::span<const Tensor> starts, const Dims& sizes) {
  std::vector<Tensor> operands{x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return emit1(kSlice, std::move(operands), {{"sizes", sizes}});
}
Tensor dynamic_update_slice(const Tensor& x, const Tensor& update, std::span<const Tensor> starts) {
  std::vector<Tensor> operands{x, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return emit1(kUpdate, std::move(operands));
}
Tensor dynamic_index(const Tensor& x, const Tensor& index) {
  x.dim(0);
  Dims sizes = x.dims();
  sizes[0] = 1;
  const Tensor row = dynamic_slice(x, first_dim_starts(x, index), sizes);
  return reshape(row, {sizes.begin() + 1, sizes.end()});
}
Tensor dynamic_update_index(const Tensor& x, const Tensor& update, const Tensor& index) {
  x.dim(0);
  return dynamic_update_slice(x, expand_dims(update, 0), first_dim_starts(x, index));
}

std::span<const OpDef* const> dynamic_defs() {
  static const OpDef* const defs[] = {&kSlice, &kUpdate};
  return defs;
}

}  // namespace tenon
