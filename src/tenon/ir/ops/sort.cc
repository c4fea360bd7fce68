// sort: arrays along one dimension in the order of the first; top_k.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/indexing.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

// ── sort ──
std::vector<TensorType> infer_sort(const InferArgs& a) {
  const int64_t dim = a.attrs.integer("dim");
  const TensorType& key = a.operands.at(0);
  if (dim < 0 || dim >= key.rank() || key.dtype == DType::i1) {
    shape_error("along dimension {} of {}", dim, to_string(key));
  }
  for (const TensorType& t : a.operands) {
    if (t.dims != key.dims) shape_error("operands have different shapes: {} and {}", to_string(key), to_string(t));
  }
  return a.operands;
}

// Ordinary comparisons are false for NaN. To keep NaN last in both directions: x is before y when it compares so, or
// when y is NaN and x isn't.
void print_sort(HloWriter& w, const OpInfo& op) {
  const DType dtype = w.type(op.operands[0]).dtype;
  const char* direction = op.attrs.flag("descending") ? "GT" : "LT";
  const char* kind = is_float(dtype) ? "FLOAT" : is_signed_int(dtype) ? "SIGNED" : "UNSIGNED";
  const std::string s = hlo_type({dtype, {}}), p = hlo_type({DType::i1, {}});
  std::string params, x, y;
  for (const ValueId v : op.operands) {
    const std::string a = w.fresh(), b = w.fresh(), type = hlo_type({w.type(v).dtype, {}});
    params += fmt::format("{}{}: {}, {}: {}", params.empty() ? "" : ", ", a, type, b, type);
    if (x.empty()) x = a, y = b;
  }
  std::string body, result = w.fresh();
  body = fmt::format("      {} = stablehlo.compare {}, {}, {}, {} : ({}, {}) -> {}\n", result, direction, x, y, kind, s,
                     s, p);
  if (is_float(dtype)) {
    const std::string y_nan = w.fresh(), x_ok = w.fresh(), late = w.fresh(), before = result;
    result = w.fresh();
    body += fmt::format("      {0} = stablehlo.compare NE, {1}, {1}, {2} : ({3}, {3}) -> {4}\n", y_nan, y, kind, s, p);
    body += fmt::format("      {0} = stablehlo.compare EQ, {1}, {1}, {2} : ({3}, {3}) -> {4}\n", x_ok, x, kind, s, p);
    body += fmt::format("      {} = stablehlo.and {}, {} : {}\n", late, y_nan, x_ok, p);
    body += fmt::format("      {} = stablehlo.or {}, {} : {}\n", result, before, late, p);
  }
  w.define(op, fmt::format("\"stablehlo.sort\"({}) <{{dimension = {} : i64, is_stable = true}}> ({{\n"
                           "    ^bb0({}):\n{}      stablehlo.return {} : {}\n    }}) : {}",
                           w.names(op.operands), op.attrs.integer("dim"), params, body, result, p, w.signature(op)));
}

// Whether element i of `x` goes before element j.
bool before(const Literal& x, int64_t i, int64_t j, bool descending) {
  if (is_float(x.dtype())) {
    const double u = x.as_double(i), v = x.as_double(j);
    if (std::isnan(u) || std::isnan(v)) return std::isnan(v) && !std::isnan(u);
    return descending ? u > v : u < v;
  }
  const int64_t u = descending ? x.as_int(j) : x.as_int(i), v = descending ? x.as_int(i) : x.as_int(j);
  return is_unsigned_int(x.dtype()) ? static_cast<uint64_t>(u) < static_cast<uint64_t>(v) : u < v;
}

std::vector<Literal> eval_sort(const EvalArgs& a) {
  const Literal& key = a.operand(0);
  const auto dim = static_cast<size_t>(a.attrs().integer("dim"));
  const bool descending = a.attrs().flag("descending");
  std::vector<Literal> out;
  for (const TensorType& t : a.results) out.emplace_back(t);
  const Dims strides = row_major_strides(key.dims());
  Dims outer = key.dims();
  const int64_t n = outer[dim];
  outer[dim] = std::min<int64_t>(n, 1);
  for_each_index(outer, [&](const Dims& index) {
    const int64_t base = flat_index(index, strides);
    std::vector<int64_t> order;
    for (int64_t i = 0; i < n; ++i) order.push_back(base + i * strides[dim]);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return before(key, i, j, descending); });
    for (size_t k = 0; k < out.size(); ++k) {
      for (int64_t i = 0; i < n; ++i) {
        copy_element(out[k], base + i * strides[dim], a.operand(k), order[static_cast<size_t>(i)]);
      }
    }
  });
  return out;
}

// Sorting the positions along with the keys tells where each result came from; sorting by these puts them back.
std::vector<Tensor> vjp_sort(const VjpArgs& a) {
  const int64_t dim = a.attrs.integer("dim");
  const Tensor& key = a.operand(0);
  const Tensor positions[] = {key, iota({DType::i32, key.dims()}, dim)};
  std::vector<Tensor> back{sort_together(positions, dim, a.attrs.flag("descending"))[1]};
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (a.active[i] && a.cotangents[i]) back.push_back(a.cotangents[i]);
  }
  const std::vector<Tensor> moved = sort_together(back, dim);
  std::vector<Tensor> out(a.operands.size());
  size_t next = 1;
  for (size_t i = 0; i < out.size(); ++i) {
    if (a.active[i] && a.cotangents[i]) out[i] = moved[next++];
  }
  return out;
}

// ── top_k ──
std::vector<TensorType> infer_top_k(const InferArgs& a) {
  const TensorType& x = a.operands[0];
  const int64_t k = a.attrs.integer("k");
  if (x.rank() < 1 || x.dtype == DType::i1 || k < 0 || k > x.dims.back())
    shape_error("the top {} of {}", k, to_string(x));
  Dims dims = x.dims;
  dims.back() = k;
  return {{x.dtype, dims}, {DType::i32, dims}};
}
void print_top_k(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("chlo.top_k({}, k = {}) : {} -> ({})", w.names(op.operands), op.attrs.integer("k"),
                           w.type_text(op.operands[0]), w.types(op.results)));
}
std::vector<Literal> eval_top_k(const EvalArgs& a) {
  const Literal& x = a.operand(0);
  const int64_t n = x.dims().back(), k = a.attrs().integer("k");
  Literal values(a.results[0]), indices(a.results[1]);
  const auto larger = [&](int64_t i, int64_t j) {
    if (is_float(x.dtype()) && (std::isnan(x.as_double(i)) || std::isnan(x.as_double(j)))) {
      return std::isnan(x.as_double(i)) && !std::isnan(x.as_double(j));
    }
    return before(x, i, j, true);
  };
  const int64_t num_rows = n == 0 ? 0 : x.size() / n;
  for (int64_t row = 0; row < num_rows; ++row) {
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), row * n);
    std::stable_sort(order.begin(), order.end(), larger);
    for (int64_t i = 0; i < k; ++i) {
      copy_element(values, row * k + i, x, order[static_cast<size_t>(i)]);
      indices.set_int(row * k + i, order[static_cast<size_t>(i)] - row * n);
    }
  }
  return {std::move(values), std::move(indices)};
}
std::vector<Tensor> vjp_top_k(const VjpArgs& a) {
  if (!a.cotangents[0]) return {Tensor()};
  return {scatter_add_along(zeros_like(a.operand(0)), a.results[1], a.cotangents[0], -1)};
}

const OpDef kSort{"sort", infer_sort, print_sort, eval_sort, vjp_sort, {}, nullptr, Recompute::expensive};
const OpDef kTopK{"top_k", infer_top_k, print_top_k, eval_top_k, vjp_top_k, {}, nullptr, Recompute::expensive};

}  // namespace

Tensor sort(const Tensor& x, int64_t dim, bool descending) { return sort_together({&x, 1}, dim, descending)[0]; }

std::vector<Tensor> sort_together(std::span<const Tensor> xs, int64_t dim, bool descending) {
  if (xs.empty()) shape_error("sort: needs at least one array");
  Trace& trace = *xs[0].trace();
  return trace.emit(kSort, {xs.begin(), xs.end()},
                    {{"dim", dim < 0 ? dim + xs[0].rank() : dim}, {"descending", descending}});
}

TopK top_k(const Tensor& x, int64_t k) {
  const std::vector<Tensor> out = x.trace()->emit(kTopK, {x}, {{"k", k}});
  return {out[0], out[1]};
}

std::span<const OpDef* const> sort_defs() {
  static const OpDef* const defs[] = {&kSort, &kTopK};
  return defs;
}

}  // namespace tenon
