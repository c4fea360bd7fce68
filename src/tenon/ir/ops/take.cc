// take and scatter_add_rows: rows of a table by index, each the transpose of the other.
#include <algorithm>

#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

int64_t row_size(const Dims& table) { return num_elements({table.begin() + 1, table.end()}); }

Dims iota_dims(int64_t begin, int64_t end) {
  Dims out;
  for (int64_t d = begin; d < end; ++d) out.push_back(d);
  return out;
}

std::vector<TensorType> infer_take(const InferArgs& a) {
  const TensorType &table = a.operands[0], &ids = a.operands[1];
  if (table.rank() < 1 || table.dims[0] < 1 || ids.dtype != DType::i32) {
    shape_error("needs a table with rows and i32 ids, got {} and {}", to_string(table), to_string(ids));
  }
  TensorType out{table.dtype, ids.dims};
  out.dims.insert(out.dims.end(), table.dims.begin() + 1, table.dims.end());
  return {out};
}

// Gather reads indices in a last dimension of size 1.
std::string index_column(HloWriter& w, ValueId ids) {
  TensorType column = w.type(ids);
  column.dims.push_back(1);
  const std::string name = w.fresh();
  w.line(fmt::format("{} = stablehlo.reshape {} : ({}) -> {}", name, w.name(ids), w.type_text(ids), hlo_type(column)));
  return name;
}
std::string column_type(const HloWriter& w, ValueId ids) {
  TensorType column = w.type(ids);
  column.dims.push_back(1);
  return hlo_type(column);
}

void print_take(HloWriter& w, const OpInfo& op) {
  const ValueId table = op.operands[0], ids = op.operands[1];
  const std::string column = index_column(w, ids);
  const int64_t n = w.type(ids).rank(), rest = w.type(table).rank() - 1;
  Dims sizes = w.type(table).dims;
  sizes[0] = 1;
  std::string size_text = hlo_list(sizes);
  w.define(op, fmt::format("\"stablehlo.gather\"({}, {}) <{{dimension_numbers = #stablehlo.gather<offset_dims = {}, "
                           "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = {}>, "
                           "indices_are_sorted = false, slice_sizes = array<i64: {}>}}> : ({}, {}) -> {}",
                           w.name(table), column, hlo_list(iota_dims(n, n + rest)), n,
                           size_text.substr(1, size_text.size() - 2), w.type_text(table), column_type(w, ids),
                           w.type_text(op.results[0])));
}

std::vector<Literal> eval_take(const EvalArgs& a) {
  const Literal &table = a.operand(0), &ids = a.operand(1);
  const int64_t width = row_size(table.dims());
  Literal out(a.results[0]);
  for (int64_t i = 0; i < ids.size(); ++i) {
    const int64_t row = std::clamp<int64_t>(ids.as_int(i), 0, table.dims()[0] - 1);
    for (int64_t j = 0; j < width; ++j) copy_element(out, i * width + j, table, row * width + j);
  }
  return {std::move(out)};
}

std::vector<Tensor> vjp_take(const VjpArgs& a) {
  const Tensor &table = a.operand(0), &ids = a.operand(1);
  const Tensor last = full_like(ids, static_cast<double>(table.dim(0) - 1));
  return {scatter_add_rows(minimum(maximum(ids, zeros_like(ids)), last), a.cotangent(), table.dim(0)), Tensor()};
}

std::vector<TensorType> infer_scatter(const InferArgs& a) {
  const TensorType &ids = a.operands[0], &updates = a.operands[1];
  const int64_t rows = a.attrs.integer("num_rows");
  const bool fits = ids.dtype == DType::i32 && updates.rank() >= ids.rank() && rows >= 0 &&
                    updates.dtype != DType::i1 && std::equal(ids.dims.begin(), ids.dims.end(), updates.dims.begin());
  if (!fits) shape_error("ids {} don't lead updates {}", to_string(ids), to_string(updates));
  TensorType out{updates.dtype, {rows}};
  out.dims.insert(out.dims.end(), updates.dims.begin() + ids.rank(), updates.dims.end());
  return {out};
}

void print_scatter(HloWriter& w, const OpInfo& op) {
  const ValueId ids = op.operands[0], updates = op.operands[1], result = op.results[0];
  const TensorType scalar{w.type(updates).dtype, {}};
  const std::string zero = w.fresh(), target = w.fresh(), x = w.fresh(), y = w.fresh(), sum = w.fresh();
  const std::string column = index_column(w, ids);
  w.line(fmt::format("{} = stablehlo.constant {}", zero, hlo_dense(Literal(scalar))));
  w.line(fmt::format("{} = stablehlo.broadcast_in_dim {}, dims = [] : ({}) -> {}", target, zero, hlo_type(scalar),
                     w.type_text(result)));
  const int64_t n = w.type(ids).rank();
  const std::string s = hlo_type(scalar);
  w.define(
      op, fmt::format(
              "\"stablehlo.scatter\"({}, {}, {}) <{{scatter_dimension_numbers = #stablehlo.scatter<"
              "update_window_dims = {}, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
              "index_vector_dim = {}>, indices_are_sorted = false, unique_indices = false}}> ({{\n"
              "    ^bb0({}: {}, {}: {}):\n      {} = stablehlo.add {}, {} : {}\n      stablehlo.return {} : {}\n"
              "    }}) : ({}, {}, {}) -> {}",
              target, column, w.name(updates), hlo_list(iota_dims(n, w.type(updates).rank())), n, x, s, y, s, sum, x, y,
              s, sum, s, w.type_text(result), column_type(w, ids), w.type_text(updates), w.type_text(result)));
}

std::vector<Literal> eval_scatter(const EvalArgs& a) {
  const Literal &ids = a.operand(0), &updates = a.operand(1);
  Literal out(a.results[0]);
  const int64_t width = row_size(out.dims());
  std::vector<double> sums(static_cast<size_t>(out.size()), 0.0);
  for (int64_t i = 0; i < ids.size(); ++i) {
    const int64_t row = ids.as_int(i);
    if (row < 0 || row >= out.dims()[0]) continue;
    for (int64_t j = 0; j < width; ++j) {
      const int64_t to = row * width + j;
      if (is_float(out.dtype())) {
        sums[static_cast<size_t>(to)] += updates.as_double(i * width + j);
      } else {
        out.set_int(to, out.as_int(to) + updates.as_int(i * width + j));
      }
    }
  }
  if (is_float(out.dtype())) {
    for (int64_t i = 0; i < out.size(); ++i) out.set(i, sums[static_cast<size_t>(i)]);
  }
  return {std::move(out)};
}

// Dropped ids must read zero, so the rows are masked.
std::vector<Tensor> vjp_scatter(const VjpArgs& a) {
  const Tensor& ids = a.operand(0);
  if (a.attrs.integer("num_rows") == 0) return {Tensor(), zeros_like(a.operand(1))};
  const Tensor rows = full_like(ids, static_cast<double>(a.attrs.integer("num_rows")));
  const Tensor inside = logical_and(greater_equal(ids, zeros_like(ids)), less(ids, rows));
  const Tensor read = take(a.cotangent(), ids);
  const Tensor mask = broadcast_in_dim(inside, read.dims(), iota_dims(0, ids.rank()));
  return {Tensor(), select(mask, read, zeros_like(read))};
}

const OpDef kTake{"take", infer_take, print_take, eval_take, vjp_take};
const OpDef kScatter{"scatter_add_rows",  infer_scatter, print_scatter, eval_scatter, vjp_scatter, {}, nullptr,
                     Recompute::expensive};

}  // namespace

Tensor take(const Tensor& table, const Tensor& ids) { return emit1(kTake, {table, ids}); }
Tensor scatter_add_rows(const Tensor& ids, const Tensor& updates, int64_t num_rows) {
  const Tensor wide = convert(updates, accumulator(updates.dtype()));
  return convert(emit1(kScatter, {ids, wide}, {{"num_rows", num_rows}}), updates.dtype());
}

std::span<const OpDef* const> take_defs() {
  static const OpDef* const defs[] = {&kTake, &kScatter};
  return defs;
}

}  // namespace tenon
