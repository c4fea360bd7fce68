// The common forms of gather and scatter.
#include "tenon/ir/ops/indexing.h"

#include <algorithm>
#include <numeric>

#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"

namespace tenon {
namespace {

Dims iota_dims(int64_t begin, int64_t end) {
  Dims out(static_cast<size_t>(end - begin));
  std::iota(out.begin(), out.end(), begin);
  return out;
}

// Whole rows: one index a row, put in front.
GatherDims rows(int64_t ids_rank, int64_t table_rank) {
  return {iota_dims(ids_rank, ids_rank + table_rank - 1), {0}, {}, {}, {0}};
}

// One element for each index, dimensions other than `dim` running along.
GatherDims along(int64_t rank, int64_t dim) {
  Dims others = iota_dims(0, rank);
  others.erase(others.begin() + dim);
  return {{}, {dim}, others, others, {dim}};
}

int64_t check_along(const char* what, const Tensor& x, const Tensor& indices, int64_t dim) {
  x.dim(dim);
  const int64_t d = dim < 0 ? dim + x.rank() : dim;
  bool fits = indices.rank() == x.rank() && indices.dtype() == DType::i32;
  for (int64_t i = 0; fits && i < x.rank(); ++i) fits = i == d || indices.dim(i) == x.dim(i);
  if (!fits) {
    shape_error("{}: i32 indices of the array's shape but for dimension {}: {} into {}", what, d,
                to_string(indices.type()), to_string(x.type()));
  }
  return d;
}

}  // namespace

Tensor take(const Tensor& table, const Tensor& ids) {
  if (table.rank() < 1 || table.dim(0) < 1 || ids.dtype() != DType::i32) {
    shape_error("take: needs a table with rows and i32 ids, got {} and {}", to_string(table.type()),
                to_string(ids.type()));
  }
  Dims sizes = table.dims();
  sizes[0] = 1;
  return gather(table, expand_dims(ids, -1), rows(ids.rank(), table.rank()), sizes);
}

Tensor scatter_add_rows(const Tensor& ids, const Tensor& updates, int64_t num_rows) {
  if (ids.dtype() != DType::i32 || updates.rank() < ids.rank() || num_rows < 0) {
    shape_error("scatter_add_rows: i32 ids {} don't lead updates {} into {} rows", to_string(ids.type()),
                to_string(updates.type()), num_rows);
  }
  Dims table{num_rows};
  table.insert(table.end(), updates.dims().begin() + ids.rank(), updates.dims().end());
  const int64_t rank = static_cast<int64_t>(table.size());
  if (num_rows == 0) return zeros({updates.dtype(), table});  // there is no row to clamp to
  return scatter_add(zeros({updates.dtype(), table}), expand_dims(ids, -1), updates, rows(ids.rank(), rank));
}

Tensor take_along(const Tensor& x, const Tensor& indices, int64_t dim) {
  const int64_t d = check_along("take_along", x, indices, dim);
  if (x.dim(d) == 0) shape_error("take_along: dimension {} of {} is empty", d, to_string(x.type()));
  Dims sizes = x.dims();
  for (int64_t& size : sizes) size = std::min<int64_t>(size, 1);
  return gather(x, expand_dims(indices, -1), along(x.rank(), d), sizes);
}

Tensor scatter_add_along(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t dim) {
  const int64_t d = check_along("scatter_add_along", x, indices, dim);
  return scatter_add(x, expand_dims(indices, -1), updates, along(x.rank(), d));
}

}  // namespace tenon
