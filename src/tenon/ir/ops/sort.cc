// sort: values along one dimension.
#include <algorithm>
#include <cmath>

#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

std::vector<TensorType> infer_sort(const InferArgs& a) {
  const int64_t dim = a.attrs.integer("dim");
  if (dim < 0 || dim >= a.operands[0].rank() || a.operands[0].dtype == DType::i1) {
    shape_error("along dimension {} of {}", dim, to_string(a.operands[0]));
  }
  return {a.operands[0]};
}

// TOTALORDER puts NaN past infinity; descending order negates the comparison, so NaN is sorted first there. To keep NaN
// last in both, a NaN never comes first: (x before y) and x == x, or y is NaN and x isn't.
void print_sort(HloWriter& w, const OpInfo& op) {
  const DType dtype = w.type(op.operands[0]).dtype;
  const std::string s = hlo_type({dtype, {}}), p = hlo_type({DType::i1, {}});
  const std::string x = w.fresh(), y = w.fresh(), before = w.fresh(), y_nan = w.fresh(), x_ok = w.fresh(),
                    late = w.fresh(), result = w.fresh();
  const char* direction = op.attrs.flag("descending") ? "GT" : "LT";
  const char* kind = is_float(dtype) ? "FLOAT" : is_signed_int(dtype) ? "SIGNED" : "UNSIGNED";
  w.define(op, fmt::format("\"stablehlo.sort\"({0}) <{{dimension = {1} : i64, is_stable = false}}> ({{\n"
                           "    ^bb0({2}: {3}, {4}: {3}):\n"
                           "      {5} = stablehlo.compare {6}, {2}, {4}, {7} : ({3}, {3}) -> {8}\n"
                           "      {9} = stablehlo.compare NE, {4}, {4}, {7} : ({3}, {3}) -> {8}\n"
                           "      {10} = stablehlo.compare EQ, {2}, {2}, {7} : ({3}, {3}) -> {8}\n"
                           "      {11} = stablehlo.and {9}, {10} : {8}\n"
                           "      {12} = stablehlo.or {5}, {11} : {8}\n"
                           "      stablehlo.return {12} : {8}\n    }}) : ({13}) -> {13}",
                           w.names(op.operands), op.attrs.integer("dim"), x, s, y, before, direction, kind, p, y_nan,
                           x_ok, late, result, w.type_text(op.results[0])));
}

std::vector<Literal> eval_sort(const EvalArgs& a) {
  const Literal& x = a.operand(0);
  const auto dim = static_cast<size_t>(a.attrs().integer("dim"));
  const bool descending = a.attrs().flag("descending");
  Literal out(a.results[0]);
  const Dims strides = row_major_strides(x.dims());
  Dims outer = x.dims();
  const int64_t n = outer[dim];
  outer[dim] = std::min<int64_t>(n, 1);
  const auto less = [&](int64_t i, int64_t j) {
    if (is_float(x.dtype())) {
      const double u = x.as_double(i), v = x.as_double(j);
      if (std::isnan(u) || std::isnan(v)) return std::isnan(v) && !std::isnan(u);
      return descending ? u > v : u < v;
    }
    const int64_t u = x.as_int(i), v = x.as_int(j);
    const bool before = is_unsigned_int(x.dtype()) ? static_cast<uint64_t>(u) < static_cast<uint64_t>(v) : u < v;
    return descending ? !before && u != v : before;
  };
  for_each_index(outer, [&](const Dims& index) {
    const int64_t base = flat_index(index, strides);
    std::vector<int64_t> order;
    for (int64_t i = 0; i < n; ++i) order.push_back(base + i * strides[dim]);
    std::stable_sort(order.begin(), order.end(), less);
    for (int64_t i = 0; i < n; ++i) copy_element(out, base + i * strides[dim], x, order[static_cast<size_t>(i)]);
  });
  return {std::move(out)};
}

const OpDef kSort{
    "sort",  infer_sort,          print_sort, eval_sort, nullptr, "sort indices with the values and take rows by them",
    nullptr, Recompute::expensive};

}  // namespace

Tensor sort(const Tensor& x, int64_t dim, bool descending) {
  return emit1(kSort, {x}, {{"dim", dim < 0 ? dim + x.rank() : dim}, {"descending", descending}});
}

std::span<const OpDef* const> sort_defs() {
  static const OpDef* const defs[] = {&kSort};
  return defs;
}

}  // namespace tenon
