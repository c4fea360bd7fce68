// gather and the scatters: slices of an array at places given by an index array, and the way back.
#include <algorithm>

#include "tenon/ir/ops/combiner.h"
#include "tenon/ir/ops/contract.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/indexing.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

bool contains(const Dims& dims, int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }

Attrs to_attrs(const GatherDims& d) {
  return {{"window", d.window},
          {"collapsed", d.collapsed},
          {"operand_batch", d.operand_batch},
          {"index_batch", d.index_batch},
          {"index_map", d.index_map}};
}
GatherDims from_attrs(const Attrs& a) {
  return {a.dims("window"), a.dims("collapsed"), a.dims("operand_batch"), a.dims("index_batch"), a.dims("index_map")};
}

bool distinct_in(const Dims& dims, int64_t rank) {
  Dims sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
         std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return d >= 0 && d < rank; });
}

// Throws unless the numbers describe slices of `sizes` of `operand` placed by `indices` in an array of `out_rank`.
void check_dims(const TensorType& operand, const TensorType& indices, const GatherDims& d, const Dims& sizes,
                int64_t out_rank) {
  if (indices.dtype != DType::i32 || indices.rank() < 1 ||
      indices.dims.back() != static_cast<int64_t>(d.index_map.size())) {
    shape_error("needs i32 indices whose last dimension has {} components, got {}", d.index_map.size(),
                to_string(indices));
  }
  Dims gone = d.collapsed;
  gone.insert(gone.end(), d.operand_batch.begin(), d.operand_batch.end());
  Dims placed = d.index_map;
  placed.insert(placed.end(), d.operand_batch.begin(), d.operand_batch.end());
  bool fits = distinct_in(gone, operand.rank()) && distinct_in(placed, operand.rank()) &&
              distinct_in(d.window, out_rank) && std::is_sorted(d.window.begin(), d.window.end()) &&
              distinct_in(d.index_batch, indices.rank() - 1) && d.index_batch.size() == d.operand_batch.size() &&
              sizes.size() == operand.dims.size() &&
              static_cast<int64_t>(d.window.size() + gone.size()) == operand.rank() &&
              static_cast<int64_t>(d.window.size()) + indices.rank() - 1 == out_rank;
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    fits = sizes[i] >= 0 && sizes[i] <= operand.dims[i] && (sizes[i] == 1 || !contains(d.collapsed, dim)) &&
           (sizes[i] == std::min<int64_t>(operand.dims[i], 1) || !contains(d.operand_batch, dim));
  }
  for (size_t i = 0; fits && i < d.index_batch.size(); ++i) {
    fits = operand.dims[as_size(d.operand_batch[i])] == indices.dims[as_size(d.index_batch[i])];
  }
  if (!fits) {
    shape_error("slices {} of {} at {} don't follow from window {}, collapsed {}, batch {} x {}, index map {}",
                to_string(sizes), to_string(operand), to_string(indices), to_string(d.window), to_string(d.collapsed),
                to_string(d.operand_batch), to_string(d.index_batch), to_string(d.index_map));
  }
}

bool kept(const GatherDims& d, size_t dim) {
  const auto i = static_cast<int64_t>(dim);
  return !contains(d.collapsed, i) && !contains(d.operand_batch, i);
}

// Where the elements of the gathered array (of the updates) are in the operand.
class Places {
 public:
  Places(const Literal& operand, const Literal& indices, const GatherDims& dims, Dims sizes)
      : operand_(operand), indices_(indices), dims_(dims), sizes_(std::move(sizes)) {
    for (size_t d = 0; d < operand.dims().size(); ++d) {
      if (kept(dims, d)) window_dims_.push_back(d);
    }
    operand_strides_ = row_major_strides(operand.dims());
    index_strides_ = row_major_strides(indices.dims());
  }

  // The flat index in the operand of element `at`; with `clamp` slices are moved inside, otherwise -1 for an element of
  // one that isn't.
  int64_t of(const Dims& at, bool clamp) const {
    Dims batch;
    std::vector<int64_t> window;
    for (size_t d = 0; d < at.size(); ++d) {
      (contains(dims_.window, static_cast<int64_t>(d)) ? window : batch).push_back(at[d]);
    }
    int64_t row = 0;
    for (size_t d = 0; d < batch.size(); ++d) row += batch[d] * index_strides_[d];
    int64_t out = 0;
    for (size_t i = 0; i < dims_.index_map.size(); ++i) {
      const size_t d = as_size(dims_.index_map[i]);
      const int64_t start = indices_.as_int(row + static_cast<int64_t>(i)), last = operand_.dims()[d] - sizes_[d];
      if (!clamp && (start < 0 || start > last)) return -1;
      out += std::clamp<int64_t>(start, 0, last) * operand_strides_[d];
    }
    for (size_t i = 0; i < dims_.operand_batch.size(); ++i) {
      out += batch[as_size(dims_.index_batch[i])] * operand_strides_[as_size(dims_.operand_batch[i])];
    }
    for (size_t i = 0; i < window.size(); ++i) out += window[i] * operand_strides_[window_dims_[i]];
    return out;
  }

 private:
  const Literal &operand_, &indices_;
  const GatherDims& dims_;
  Dims sizes_, operand_strides_, index_strides_;
  std::vector<size_t> window_dims_;
};

// ── gather ──
std::vector<TensorType> infer_gather(const InferArgs& a) {
  const TensorType &x = a.operands[0], &indices = a.operands[1];
  const GatherDims d = from_attrs(a.attrs);
  const Dims& sizes = a.attrs.dims("sizes");
  const int64_t rank = static_cast<int64_t>(d.window.size()) + std::max<int64_t>(indices.rank(), 1) - 1;
  check_dims(x, indices, d, sizes, rank);
  TensorType out{x.dtype, {}};
  size_t next_window = 0, next_batch = 0;
  for (int64_t i = 0; i < rank; ++i) {
    if (!contains(d.window, i)) {
      out.dims.push_back(indices.dims[next_batch++]);
      continue;
    }
    while (!kept(d, next_window)) ++next_window;
    out.dims.push_back(sizes[next_window++]);
  }
  return {out};
}

std::string array_text(const Dims& values) {
  const std::string list = hlo_list(values);
  return values.empty() ? "array<i64>" : fmt::format("array<i64: {}>", list.substr(1, list.size() - 2));
}

void print_gather(HloWriter& w, const OpInfo& op) {
  const GatherDims d = from_attrs(op.attrs);
  const std::string batch = d.operand_batch.empty()
                                ? ""
                                : fmt::format("operand_batching_dims = {}, start_indices_batching_dims = {}, ",
                                              hlo_list(d.operand_batch), hlo_list(d.index_batch));
  w.define(op,
           fmt::format("\"stablehlo.gather\"({}) <{{dimension_numbers = #stablehlo.gather<offset_dims = {}, "
                       "collapsed_slice_dims = {}, {}start_index_map = {}, index_vector_dim = {}>, "
                       "indices_are_sorted = false, slice_sizes = {}}}> : {}",
                       w.names(op.operands), hlo_list(d.window), hlo_list(d.collapsed), batch, hlo_list(d.index_map),
                       w.type(op.operands[1]).rank() - 1, array_text(op.attrs.dims("sizes")), w.signature(op)));
}

std::vector<Literal> eval_gather(const EvalArgs& a) {
  const GatherDims dims = from_attrs(a.attrs());
  const Places places(a.operand(0), a.operand(1), dims, a.attrs().dims("sizes"));
  Literal out(a.results[0]);
  int64_t i = 0;
  for_each_index(out.dims(), [&](const Dims& index) { copy_element(out, i++, a.operand(0), places.of(index, true)); });
  return {std::move(out)};
}

// The largest start of each index component, in the shape of `indices`.
Tensor last_starts(const Tensor& operand, const Tensor& indices, const GatherDims& d, const Dims& sizes) {
  std::vector<int64_t> last;
  for (int64_t dim : d.index_map) last.push_back(operand.dim(dim) - sizes[as_size(dim)]);
  const Tensor row = constant(Literal::from(DType::i32, {static_cast<int64_t>(last.size())}, last));
  return broadcast_to(row, indices.dims());
}

std::vector<Tensor> vjp_gather(const VjpArgs& a) {
  const Tensor &x = a.operand(0), &indices = a.operand(1);
  const GatherDims d = from_attrs(a.attrs);
  const Tensor inside = clamp(indices, zeros_like(indices), last_starts(x, indices, d, a.attrs.dims("sizes")));
  return {scatter_add(zeros_like(x), inside, a.cotangent(), d), Tensor()};
}

// ── scatters ──
struct ScatterDef : OpDef {
  const Combiner* combiner;  // of old and new; null: the new one
};
const Combiner* scatter_combiner(const OpInfo& op) { return static_cast<const ScatterDef&>(*op.def).combiner; }

// The slice sizes that the updates' shape implies.
Dims window_sizes(const TensorType& operand, const TensorType& updates, const GatherDims& d) {
  Dims out;
  size_t next = 0;
  for (size_t i = 0; i < operand.dims.size(); ++i) {
    const bool window = kept(d, i) && next < d.window.size() && d.window[next] < updates.rank() && d.window[next] >= 0;
    const int64_t one = contains(d.operand_batch, static_cast<int64_t>(i)) ? std::min<int64_t>(operand.dims[i], 1) : 1;
    out.push_back(window ? updates.dims[as_size(d.window[next++])] : one);
  }
  return out;
}

std::vector<TensorType> infer_scatter(const InferArgs& a) {
  const TensorType &x = a.operands[0], &indices = a.operands[1], &updates = a.operands[2];
  const GatherDims d = from_attrs(a.attrs);
  if (x.dtype != updates.dtype) shape_error("updates of {} into {}", to_string(updates), to_string(x));
  check_dims(x, indices, d, window_sizes(x, updates, d), updates.rank());
  size_t next = 0;
  for (int64_t i = 0; i < updates.rank(); ++i) {
    if (!contains(d.window, i) && updates.dims[as_size(i)] != indices.dims[next++]) {
      shape_error("updates {} don't have the shape of indices {} outside window dimensions {}", to_string(updates),
                  to_string(indices), to_string(d.window));
    }
  }
  return {x};
}
std::vector<TensorType> infer_scatter_number(const InferArgs& a) {
  if (a.operands[0].dtype == DType::i1) shape_error("needs numbers, got {}", to_string(a.operands[0]));
  return infer_scatter(a);
}

void print_scatter(HloWriter& w, const OpInfo& op) {
  const Combiner* combiner = scatter_combiner(op);
  const GatherDims d = from_attrs(op.attrs);
  const std::string batch = d.operand_batch.empty()
                                ? ""
                                : fmt::format("input_batching_dims = {}, scatter_indices_batching_dims = {}, ",
                                              hlo_list(d.operand_batch), hlo_list(d.index_batch));
  const std::string s = hlo_type({w.type(op.operands[0]).dtype, {}});
  const std::string x = w.fresh(), y = w.fresh();
  std::string combined = y, body;
  if (combiner != nullptr) {
    combined = w.fresh();
    body = fmt::format("      {} = stablehlo.{} {}, {} : {}\n", combined, combiner->hlo_name, x, y, s);
  }
  w.define(op,
           fmt::format("\"stablehlo.scatter\"({}) <{{scatter_dimension_numbers = #stablehlo.scatter<"
                       "update_window_dims = {}, inserted_window_dims = {}, {}scatter_dims_to_operand_dims = {}, "
                       "index_vector_dim = {}>, indices_are_sorted = false, unique_indices = false}}> ({{\n"
                       "    ^bb0({}: {}, {}: {}):\n{}      stablehlo.return {} : {}\n    }}) : {}",
                       w.names(op.operands), hlo_list(d.window), hlo_list(d.collapsed), batch, hlo_list(d.index_map),
                       w.type(op.operands[1]).rank() - 1, x, s, y, s, body, combined, s, w.signature(op)));
}

std::vector<Literal> eval_scatter(const EvalArgs& a) {
  const Combiner* combiner = scatter_combiner(a.op);
  const Literal &indices = a.operand(1), &updates = a.operand(2);
  const GatherDims dims = from_attrs(a.attrs());
  Literal out = a.operand(0);
  const Places places(a.operand(0), indices, dims, window_sizes(out.type(), updates.type(), dims));
  const bool floats = is_float(out.dtype()) && combiner != nullptr;
  std::vector<double> sums = floats ? out.to_doubles() : std::vector<double>();
  int64_t i = 0;
  for_each_index(updates.dims(), [&](const Dims& index) {
    const int64_t from = i++, to = places.of(index, false);
    if (to < 0) return;
    if (floats) {
      sums[as_size(to)] = combiner->on_float(sums[as_size(to)], updates.as_double(from));
    } else if (combiner != nullptr) {
      out.set_int(to, combiner->on_int(out.as_int(to), updates.as_int(from), out.dtype()));
    } else {
      copy_element(out, to, updates, from);
    }
  });
  for (size_t k = 0; k < sums.size(); ++k) out.set(static_cast<int64_t>(k), sums[k]);
  return {std::move(out)};
}

// `read` (of the updates' shape) where the update's slice lies inside the operand, else 0.
Tensor dropped_to_zero(const Tensor& read, const Tensor& operand, const Tensor& indices, const GatherDims& d,
                       const Dims& sizes) {
  const Tensor last = last_starts(operand, indices, d, sizes);
  const Tensor ok = reduce_and(logical_and(greater_equal(indices, zeros_like(indices)), less_equal(indices, last)),
                               {indices.rank() - 1});
  Dims batch;
  for (int64_t i = 0; i < read.rank(); ++i) {
    if (!contains(d.window, i)) batch.push_back(i);
  }
  return select(broadcast_in_dim(ok, read.dims(), batch), read, zeros_like(read));
}

struct ScatterGrad {
  GatherDims dims;
  Dims sizes;
  explicit ScatterGrad(const VjpArgs& a)
      : dims(from_attrs(a.attrs)), sizes(window_sizes(a.operand(0).type(), a.operand(2).type(), dims)) {}
  Tensor read(const VjpArgs& a, const Tensor& from) const {
    return dropped_to_zero(gather(from, a.operand(1), dims, sizes), a.operand(0), a.operand(1), dims, sizes);
  }
};

std::vector<Tensor> vjp_add(const VjpArgs& a) {
  const ScatterGrad grad(a);
  return {a.cotangent(), Tensor(), a.active[2] ? grad.read(a, a.cotangent()) : Tensor()};
}

// Of several updates to one place only the one that stayed has an influence; numbering them shows which it was.
std::vector<Tensor> vjp_set(const VjpArgs& a) {
  const Tensor &x = a.operand(0), &indices = a.operand(1), &updates = a.operand(2);
  const ScatterGrad grad(a);
  Tensor dx, dupdates;
  if (a.active[0]) dx = scatter_set(a.cotangent(), indices, zeros_like(updates), grad.dims);
  if (a.active[2]) {
    const Tensor number = reshape(iota({DType::i32, {num_elements(updates.dims())}}, 0), updates.dims());
    const Tensor stayed = scatter_set(zeros({DType::i32, x.dims()}), indices, number, grad.dims);
    const Tensor read = grad.read(a, a.cotangent());
    dupdates = select(equal(gather(stayed, indices, grad.dims, grad.sizes), number), read, zeros_like(read));
  }
  return {dx, Tensor(), dupdates};
}

constexpr std::string_view kNoChoice = "scatter the indices of the elements with them and gather by these";

const OpDef kGather{"gather", infer_gather, print_gather, eval_gather, vjp_gather};
const ScatterDef kScatterAdd{
    {"scatter_add", infer_scatter_number, print_scatter, eval_scatter, vjp_add, {}, nullptr, Recompute::expensive},
    &kCombineSum};
const ScatterDef kScatterSet{
    {"scatter_set", infer_scatter, print_scatter, eval_scatter, vjp_set, {}, nullptr, Recompute::expensive}, nullptr};
const ScatterDef kScatterMax{{"scatter_max", infer_scatter_number, print_scatter, eval_scatter, nullptr, kNoChoice,
                              nullptr, Recompute::expensive},
                             &kCombineMax};
const ScatterDef kScatterMin{{"scatter_min", infer_scatter_number, print_scatter, eval_scatter, nullptr, kNoChoice,
                              nullptr, Recompute::expensive},
                             &kCombineMin};

}  // namespace

Tensor gather(const Tensor& x, const Tensor& indices, const GatherDims& dims, const Dims& sizes) {
  Attrs attrs = to_attrs(dims);
  attrs.add("sizes", sizes);
  return emit1(kGather, {x, indices}, std::move(attrs));
}
Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& updates, const GatherDims& dims) {
  const DType wide = accumulator(x.dtype());
  const Tensor sum = emit1(kScatterAdd, {convert(x, wide), indices, convert(updates, wide)}, to_attrs(dims));
  return convert(sum, x.dtype());
}
Tensor scatter_set(const Tensor& x, const Tensor& indices, const Tensor& updates, const GatherDims& dims) {
  return emit1(kScatterSet, {x, indices, updates}, to_attrs(dims));
}
Tensor scatter_max(const Tensor& x, const Tensor& indices, const Tensor& updates, const GatherDims& dims) {
  return emit1(kScatterMax, {x, indices, updates}, to_attrs(dims));
}
Tensor scatter_min(const Tensor& x, const Tensor& indices, const Tensor& updates, const GatherDims& dims) {
  return emit1(kScatterMin, {x, indices, updates}, to_attrs(dims));
}

std::span<const OpDef* const> gather_defs() {
  static const OpDef* const defs[] = {&kGather, &kScatterAdd, &kScatterSet, &kScatterMax, &kScatterMin};
  return defs;
}

}  // namespace tenon
