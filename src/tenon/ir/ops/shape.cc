// broadcast_in_dim, reshape, transpose, slice, pad, concatenate, reverse.
#include "tenon/ir/ops/shape.h"

#include <algorithm>
#include <numeric>

#include "tenon/ir/ops/contract.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

// ── broadcast_in_dim ──
std::vector<TensorType> infer_broadcast(const InferArgs& a) {
  const TensorType& x = a.operands[0];
  const Dims &shape = a.attrs.dims("shape"), &dims = a.attrs.dims("dims");
  bool fits = dims.size() == x.dims.size() && std::is_sorted(dims.begin(), dims.end());
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    fits = dims[i] >= 0 && dims[i] < static_cast<int64_t>(shape.size()) && (i == 0 || dims[i] > dims[i - 1]) &&
           (x.dims[i] == 1 || x.dims[i] == shape[as_size(dims[i])]);
  }
  if (!fits)
    shape_error("{} doesn't broadcast to {} along dimensions {}", to_string(x), to_string(shape), to_string(dims));
  return {{x.dtype, shape}};
}
void print_broadcast(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.broadcast_in_dim {}, dims = {} : {}", w.names(op.operands),
                           hlo_list(op.attrs.dims("dims")), w.signature(op)));
}
std::vector<Literal> eval_broadcast(const EvalArgs& a) {
  const Literal& x = a.operand(0);
  const Dims& dims = a.attrs().dims("dims");
  const Dims strides = row_major_strides(x.dims());
  Literal out(a.results[0]);
  int64_t i = 0;
  for_each_index(out.dims(), [&](const Dims& index) {
    int64_t from = 0;
    for (size_t d = 0; d < dims.size(); ++d) from += x.dims()[d] == 1 ? 0 : index[as_size(dims[d])] * strides[d];
    copy_element(out, i++, x, from);
  });
  return {std::move(out)};
}
std::vector<Tensor> vjp_broadcast(const VjpArgs& a) {
  const Dims& dims = a.attrs.dims("dims");
  const Tensor& x = a.operand(0);
  Dims summed;
  for (int64_t d = 0; d < a.cotangent().rank(); ++d) {
    const auto it = std::find(dims.begin(), dims.end(), d);
    const bool repeated = it == dims.end() || (x.dims()[as_size(it - dims.begin())] == 1 && a.cotangent().dim(d) != 1);
    if (repeated) summed.push_back(d);
  }
  return {reshape(reduce_sum(a.cotangent(), summed), x.dims())};
}

// ── reshape ──
std::vector<TensorType> infer_reshape(const InferArgs& a) {
  const Dims& shape = a.attrs.dims("shape");
  if (num_elements(shape) != num_elements(a.operands[0].dims)) {
    shape_error("{} has {} elements, {} has {}", to_string(a.operands[0]), num_elements(a.operands[0].dims),
                to_string(shape), num_elements(shape));
  }
  return {{a.operands[0].dtype, shape}};
}
void print_reshape(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.reshape {} : {}", w.names(op.operands), w.signature(op)));
}
std::vector<Literal> eval_reshape(const EvalArgs& a) {
  const auto bytes = a.operand(0).bytes();
  return {Literal(a.results[0], {bytes.begin(), bytes.end()})};
}
std::vector<Tensor> vjp_reshape(const VjpArgs& a) { return {reshape(a.cotangent(), a.operand(0).dims())}; }

// ── transpose ──
std::vector<TensorType> infer_transpose(const InferArgs& a) {
  const TensorType& x = a.operands[0];
  const Dims& permutation = a.attrs.dims("permutation");
  Dims sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  Dims all(x.dims.size());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all)
    shape_error("{} isn't a permutation of the dimensions of {}", to_string(permutation), to_string(x));
  TensorType out{x.dtype, {}};
  for (int64_t d : permutation) out.dims.push_back(x.dims[as_size(d)]);
  return {out};
}
void print_transpose(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.transpose {}, dims = {} : {}", w.names(op.operands),
                           hlo_list(op.attrs.dims("permutation")), w.signature(op)));
}
std::vector<Literal> eval_transpose(const EvalArgs& a) {
  const Literal& x = a.operand(0);
  const Dims& permutation = a.attrs().dims("permutation");
  const Dims strides = row_major_strides(x.dims());
  Literal out(a.results[0]);
  int64_t i = 0;
  for_each_index(out.dims(), [&](const Dims& index) {
    int64_t from = 0;
    for (size_t d = 0; d < index.size(); ++d) from += index[d] * strides[as_size(permutation[d])];
    copy_element(out, i++, x, from);
  });
  return {std::move(out)};
}
std::vector<Tensor> vjp_transpose(const VjpArgs& a) {
  const Dims& permutation = a.attrs.dims("permutation");
  Dims inverse(permutation.size());
  for (size_t d = 0; d < permutation.size(); ++d) inverse[as_size(permutation[d])] = static_cast<int64_t>(d);
  return {transpose(a.cotangent(), inverse)};
}

// ── slice ──
std::vector<TensorType> infer_slice(const InferArgs& a) {
  const TensorType& x = a.operands[0];
  const Dims &start = a.attrs.dims("start"), &limit = a.attrs.dims("limit"), &strides = a.attrs.dims("strides");
  TensorType out{x.dtype, {}};
  const size_t n = x.dims.size();
  bool fits = start.size() == n && limit.size() == n && strides.size() == n;
  for (size_t d = 0; fits && d < n; ++d) {
    fits = start[d] >= 0 && start[d] <= limit[d] && limit[d] <= x.dims[d] && strides[d] >= 1;
    if (fits) out.dims.push_back((limit[d] - start[d] + strides[d] - 1) / strides[d]);
  }
  if (!fits) {
    shape_error("{} has no slice from {} to {} by {}", to_string(x), to_string(start), to_string(limit),
                to_string(strides));
  }
  return {out};
}
void print_slice(HloWriter& w, const OpInfo& op) {
  const Dims &start = op.attrs.dims("start"), &limit = op.attrs.dims("limit"), &strides = op.attrs.dims("strides");
  std::string ranges;
  for (size_t d = 0; d < start.size(); ++d) {
    ranges += fmt::format("{}{}:{}:{}", d > 0 ? ", " : "", start[d], limit[d], strides[d]);
  }
  w.define(op, fmt::format("stablehlo.slice {} [{}] : {}", w.names(op.operands), ranges, w.signature(op)));
}
std::vector<Literal> eval_slice(const EvalArgs& a) {
  const Literal& x = a.operand(0);
  const Dims &start = a.attrs().dims("start"), &steps = a.attrs().dims("strides");
  const Dims strides = row_major_strides(x.dims());
  Literal out(a.results[0]);
  int64_t i = 0;
  for_each_index(out.dims(), [&](const Dims& index) {
    int64_t from = 0;
    for (size_t d = 0; d < index.size(); ++d) from += (start[d] + index[d] * steps[d]) * strides[d];
    copy_element(out, i++, x, from);
  });
  return {std::move(out)};
}
std::vector<Tensor> vjp_slice(const VjpArgs& a) {
  const Dims &start = a.attrs.dims("start"), &strides = a.attrs.dims("strides");
  const Tensor& x = a.operand(0);
  Dims high, interior;
  for (size_t d = 0; d < start.size(); ++d) {
    const int64_t count = a.cotangent().dims()[d];
    const int64_t covered = count == 0 ? 0 : (count - 1) * strides[d] + 1;
    high.push_back(x.dims()[d] - start[d] - covered);
    interior.push_back(strides[d] - 1);
  }
  return {pad(a.cotangent(), zeros({x.dtype(), {}}), start, high, interior)};
}

// ── pad ──
std::vector<TensorType> infer_pad(const InferArgs& a) {
  const TensorType& x = a.operands[0];
  const Dims &low = a.attrs.dims("low"), &high = a.attrs.dims("high"), &interior = a.attrs.dims("interior");
  const size_t n = x.dims.size();
  if (a.operands[1] != TensorType{x.dtype, {}} || low.size() != n || high.size() != n || interior.size() != n) {
    shape_error("needs a scalar of {} and one number a dimension", to_string(x));
  }
  TensorType out{x.dtype, {}};
  for (size_t d = 0; d < n; ++d) {
    const int64_t size = low[d] + high[d] + x.dims[d] + std::max<int64_t>(x.dims[d] - 1, 0) * interior[d];
    if (size < 0 || interior[d] < 0) shape_error("dimension {} of {} would have size {}", d, to_string(x), size);
    out.dims.push_back(size);
  }
  return {out};
}
void print_pad(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.pad {}, low = {}, high = {}, interior = {} : {}", w.names(op.operands),
                           hlo_list(op.attrs.dims("low")), hlo_list(op.attrs.dims("high")),
                           hlo_list(op.attrs.dims("interior")), w.signature(op)));
}
std::vector<Literal> eval_pad(const EvalArgs& a) {
  const Literal& x = a.operand(0);
  const Dims &low = a.attrs().dims("low"), &interior = a.attrs().dims("interior");
  Literal out(a.results[0]);
  for (int64_t i = 0; i < out.size(); ++i) copy_element(out, i, a.operand(1), 0);
  const Dims strides = row_major_strides(out.dims());
  int64_t i = 0;
  for_each_index(x.dims(), [&](const Dims& index) {
    int64_t to = 0;
    bool inside = true;
    for (size_t d = 0; d < index.size(); ++d) {
      const int64_t at = low[d] + index[d] * (interior[d] + 1);
      inside = inside && at >= 0 && at < out.dims()[d];
      to += at * strides[d];
    }
    if (inside) copy_element(out, to, x, i);
    ++i;
  });
  return {std::move(out)};
}
// The inverse of a pad: crop what was added, undo what was cropped.
std::vector<Tensor> vjp_pad(const VjpArgs& a) {
  const Dims &low = a.attrs.dims("low"), &high = a.attrs.dims("high"), &interior = a.attrs.dims("interior");
  const Tensor& x = a.operand(0);
  const Tensor zero = zeros({x.dtype(), {}});
  Dims minus_low, minus_high, none(low.size(), 0), strides;
  for (size_t d = 0; d < low.size(); ++d) {
    minus_low.push_back(-low[d]);
    minus_high.push_back(-high[d]);
    strides.push_back(interior[d] + 1);
  }
  const Tensor wide = pad(a.cotangent(), zero, minus_low, minus_high, none);
  const Tensor dx = slice(wide, none, wide.dims(), strides);
  Tensor dvalue;
  if (a.active[1]) dvalue = sum_all(a.cotangent()) - sum_all(dx);
  return {dx, dvalue};
}

// ── concatenate ──
std::vector<TensorType> infer_concatenate(const InferArgs& a) {
  TensorType out = a.operands.at(0);
  const int64_t dim = a.attrs.integer("dim");
  if (dim < 0 || dim >= out.rank()) shape_error("along dimension {} of {}", dim, to_string(out));
  out.dims[as_size(dim)] = 0;
  for (TensorType t : a.operands) {
    const int64_t size = t.rank() == out.rank() ? t.dims[as_size(dim)] : -1;
    if (size >= 0) t.dims[as_size(dim)] = out.dims[as_size(dim)];
    if (t != out)
      shape_error("operands differ outside dimension {}: {} and {}", dim, to_string(a.operands[0]), to_string(t));
    out.dims[as_size(dim)] += size;
  }
  return {out};
}
void print_concatenate(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.concatenate {}, dim = {} : {}", w.names(op.operands), op.attrs.integer("dim"),
                           w.signature(op)));
}
std::vector<Literal> eval_concatenate(const EvalArgs& a) {
  const auto dim = as_size(a.attrs().integer("dim"));
  Literal out(a.results[0]);
  const Dims strides = row_major_strides(out.dims());
  int64_t offset = 0;
  for (const Literal* x : a.operands) {
    int64_t i = 0;
    for_each_index(x->dims(), [&](const Dims& index) {
      copy_element(out, flat_index(index, strides) + offset * strides[dim], *x, i++);
    });
    offset += x->dims()[dim];
  }
  return {std::move(out)};
}
std::vector<Tensor> vjp_concatenate(const VjpArgs& a) {
  const int64_t dim = a.attrs.integer("dim");
  std::vector<Tensor> out;
  int64_t offset = 0;
  for (const Tensor& x : a.operands) {
    out.push_back(slice_dim(a.cotangent(), dim, offset, offset + x.dim(dim)));
    offset += x.dim(dim);
  }
  return out;
}

// ── reverse ──
std::vector<TensorType> infer_reverse(const InferArgs& a) {
  normalize_dims(a.attrs.dims("dims"), a.operands[0].rank());
  return {a.operands[0]};
}
void print_reverse(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.reverse {}, dims = {} : {}", w.names(op.operands),
                           hlo_list(op.attrs.dims("dims")), w.type_text(op.results[0])));
}
std::vector<Literal> eval_reverse(const EvalArgs& a) {
  const Literal& x = a.operand(0);
  const Dims strides = row_major_strides(x.dims());
  Literal out(a.results[0]);
  int64_t i = 0;
  for_each_index(out.dims(), [&](Dims index) {
    for (int64_t d : a.attrs().dims("dims")) index[as_size(d)] = x.dims()[as_size(d)] - 1 - index[as_size(d)];
    copy_element(out, i++, x, flat_index(index, strides));
  });
  return {std::move(out)};
}
std::vector<Tensor> vjp_reverse(const VjpArgs& a) { return {reverse(a.cotangent(), a.attrs.dims("dims"))}; }

const OpDef kBroadcast{
    "broadcast_in_dim", infer_broadcast, print_broadcast, eval_broadcast, vjp_broadcast, {}, no_flops};
const OpDef kReshape{"reshape", infer_reshape, print_reshape, eval_reshape, vjp_reshape, {}, no_flops};
const OpDef kTranspose{"transpose", infer_transpose, print_transpose, eval_transpose, vjp_transpose, {}, no_flops};
const OpDef kSlice{"slice", infer_slice, print_slice, eval_slice, vjp_slice, {}, no_flops};
const OpDef kPad{"pad", infer_pad, print_pad, eval_pad, vjp_pad, {}, no_flops};
const OpDef kConcatenate{"concatenate", infer_concatenate, print_concatenate, eval_concatenate, vjp_concatenate, {},
                         no_flops};
const OpDef kReverse{"reverse", infer_reverse, print_reverse, eval_reverse, vjp_reverse, {}, no_flops};

}  // namespace

Tensor broadcast_in_dim(const Tensor& x, const Dims& shape, const Dims& dims) {
  return emit1(kBroadcast, {x}, {{"shape", shape}, {"dims", dims}});
}

Dims broadcast_shape(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()), 1);
  for (size_t i = 1; i <= out.size(); ++i) {
    const int64_t x = i <= a.size() ? a[a.size() - i] : 1;
    const int64_t y = i <= b.size() ? b[b.size() - i] : 1;
    if (x != y && x != 1 && y != 1) shape_error("{} and {} don't broadcast together", to_string(a), to_string(b));
    out[out.size() - i] = x == 1 ? y : x;
  }
  return out;
}

Tensor broadcast_to(const Tensor& x, const Dims& shape) {
  if (x.dims() == shape) return x;
  if (x.rank() > static_cast<int64_t>(shape.size()))
    shape_error("{} doesn't broadcast to {}", to_string(x.type()), to_string(shape));
  Dims dims(as_size(x.rank()));
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(shape.size()) - x.rank());
  return broadcast_in_dim(x, shape, dims);
}

Tensor reshape(const Tensor& x, Dims shape) {
  const auto hole = std::find(shape.begin(), shape.end(), -1);
  if (hole != shape.end()) {
    *hole = 1;
    if (std::any_of(shape.begin(), shape.end(), [](int64_t d) { return d < 0; })) {
      shape_error("reshape: only one dimension may be left open, and no other negative");
    }
    const int64_t rest = num_elements(shape), all = num_elements(x.dims());
    if (rest == 0 || all % rest != 0) shape_error("reshape: {} doesn't fill {}", to_string(x.type()), to_string(shape));
    *hole = all / rest;
  }
  return shape == x.dims() ? x : emit1(kReshape, {x}, {{"shape", std::move(shape)}});
}

Tensor expand_dims(const Tensor& x, int64_t dim) {
  Dims shape = x.dims();
  if (dim < 0) dim += x.rank() + 1;
  if (dim < 0 || dim > x.rank()) shape_error("expand_dims: dimension {} of {}", dim, to_string(x.type()));
  shape.insert(shape.begin() + dim, 1);
  return reshape(x, shape);
}

Tensor squeeze(const Tensor& x, int64_t dim) {
  if (x.dim(dim) != 1) shape_error("squeeze: dimension {} of {} isn't 1", dim, to_string(x.type()));
  Dims shape = x.dims();
  shape.erase(shape.begin() + (dim < 0 ? dim + x.rank() : dim));
  return reshape(x, shape);
}

Tensor transpose(const Tensor& x, const Dims& permutation) {
  Dims all(as_size(x.rank()));
  std::iota(all.begin(), all.end(), 0);
  return permutation == all ? x : emit1(kTranspose, {x}, {{"permutation", permutation}});
}

Tensor slice(const Tensor& x, const Dims& start, const Dims& limit, const Dims& strides) {
  const Dims by = strides.empty() ? Dims(x.dims().size(), 1) : strides;
  const auto all = [&](const Dims& values, int64_t v) {
    return values.size() == x.dims().size() && std::ranges::all_of(values, [v](int64_t i) { return i == v; });
  };
  if (limit == x.dims() && all(by, 1) && all(start, 0)) return x;
  return emit1(kSlice, {x}, {{"start", start}, {"limit", limit}, {"strides", by}});
}

Tensor slice_dim(const Tensor& x, int64_t dim, int64_t begin, int64_t end) {
  x.dim(dim);
  const auto d = as_size(dim < 0 ? dim + x.rank() : dim);
  Dims start(as_size(x.rank()), 0), limit = x.dims();
  start[d] = begin;
  limit[d] = end;
  return slice(x, start, limit);
}

Tensor pad(const Tensor& x, const Tensor& value, const Dims& low, const Dims& high, const Dims& interior) {
  const Dims none(x.dims().size(), 0);
  const Dims between = interior.empty() ? none : interior;
  if (low == none && high == none && between == none) return x;
  return emit1(kPad, {x, value}, {{"low", low}, {"high", high}, {"interior", between}});
}

Tensor concatenate(std::span<const Tensor> xs, int64_t dim) {
  if (xs.empty()) shape_error("concatenate: needs at least one operand");
  if (xs.size() == 1) return xs[0];
  return emit1(kConcatenate, {xs.begin(), xs.end()}, {{"dim", dim < 0 ? dim + xs[0].rank() : dim}});
}

Tensor reverse(const Tensor& x, const Dims& dims) {
  const Dims normal = normalize_dims(dims, x.rank());
  return normal.empty() ? x : emit1(kReverse, {x}, {{"dims", normal}});
}

std::span<const OpDef* const> shape_defs() {
  static const OpDef* const defs[] = {&kBroadcast, &kReshape, &kTranspose, &kSlice, &kPad, &kConcatenate, &kReverse};
  return defs;
}

}  // namespace tenon
