// Cases of the ops that read or write at places given by values.
#include "tenon/ir/cases/case_list.h"
#include "tenon/ir/ops/indexing.h"
#include "tenon/ir/ops/shape.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;
constexpr DType kTypes[] = {DType::f32, DType::f64, DType::bf16, DType::f8e5m2, DType::i8, DType::i32, DType::i1};

double step_of(DType dtype) { return dtype == DType::f64 ? kSmooth : 0; }

void add_dynamic_slice(CaseList& list) {
  const auto add = [&](const std::string& label, const TensorType& type, int64_t row, int64_t column,
                       const Dims& sizes) {
    list.add(
        "dynamic_slice", label + " " + to_string(type), {sample(type, 0, 50), index_of(row), index_of(column)},
        [=](const Tensors& x) { return Tensors{dynamic_slice(x[0], {{x[1], x[2]}}, sizes)}; }, step_of(type.dtype));
  };
  for (const DType dtype : kTypes) add("inside", {dtype, {3, 4}}, 1, 2, {2, 2});
  for (const DType dtype : {DType::f32, DType::f64}) {
    add("past the end", {dtype, {3, 4}}, 2, 100, {2, 3});
    add("before the start", {dtype, {3, 4}}, -1, -100, {1, 2});
    add("whole", {dtype, {3, 4}}, 0, 0, {3, 4});
    add("nothing", {dtype, {3, 4}}, 1, 1, {0, 2});
  }
  list.add("dynamic_slice", "scalar", {sample({DType::f32, {}}, 0, 9)},
           [](const Tensors& x) { return Tensors{dynamic_slice(x[0], {}, {})}; });
}

void add_dynamic_update_slice(CaseList& list) {
  const auto add = [&](const std::string& label, const TensorType& type, const Dims& update, int64_t row,
                       int64_t column) {
    list.add(
        "dynamic_update_slice", label + " " + to_string(type),
        {sample(type, 0, 50), sample({type.dtype, update}, 0, 50, 1), index_of(row), index_of(column)},
        [](const Tensors& x) { return Tensors{dynamic_update_slice(x[0], x[1], {{x[2], x[3]}})}; },
        step_of(type.dtype));
  };
  for (const DType dtype : kTypes) add("inside", {dtype, {3, 4}}, {2, 2}, 1, 1);
  for (const DType dtype : {DType::f32, DType::f64}) {
    add("past the end", {dtype, {3, 4}}, {2, 3}, 2, 100);
    add("before the start", {dtype, {3, 4}}, {1, 2}, -1, -100);
    add("whole", {dtype, {3, 4}}, {3, 4}, 0, 0);
    add("nothing", {dtype, {3, 4}}, {0, 2}, 1, 1);
  }
}

void add_take(CaseList& list) {
  const auto add = [&](const std::string& label, const TensorType& table, const Literal& ids) {
    list.add(
        "gather", "rows, " + label + " " + to_string(table), {sample(table, 0, 50), ids},
        [](const Tensors& x) { return Tensors{take(x[0], x[1])}; }, step_of(table.dtype));
  };
  for (const DType dtype : kTypes) add("pairs", {dtype, {3, 2}}, ints(DType::i32, {2, 2}, {0, 2, 2, 1}));
  for (const DType dtype : {DType::f32, DType::f64}) {
    add("outside", {dtype, {3, 2}}, ints(DType::i32, {4}, {-5, 3, 100, 1}));
    add("one", {dtype, {3, 2}}, index_of(2));
    add("scalar rows", {dtype, {4}}, ints(DType::i32, {3}, {3, 0, 3}));
    add("deep rows", {dtype, {3, 2, 2}}, ints(DType::i32, {2}, {1, 0}));
    add("no ids", {dtype, {3, 2}}, Literal({DType::i32, {0}}));
    add("empty rows", {dtype, {3, 0}}, ints(DType::i32, {2}, {1, 0}));
  }
}

void add_scatter_rows(CaseList& list) {
  const auto add = [&](const std::string& label, DType dtype, const Literal& ids, const Dims& row, int64_t num_rows) {
    Dims dims = ids.dims();
    dims.insert(dims.end(), row.begin(), row.end());
    const TensorType updates{dtype, dims};
    list.add("scatter_add", "rows, " + label + " " + to_string(updates), {ids, sample(updates, 0, 20)},
             [=](const Tensors& x) { return Tensors{scatter_add_rows(x[0], x[1], num_rows)}; });
  };
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::f8e4m3fn, DType::i8, DType::i32}) {
    add("repeats", dtype, ints(DType::i32, {2, 2}, {0, 2, 2, 2}), {2}, 3);
  }
  for (const DType dtype : {DType::f32, DType::f64}) {
    add("outside", dtype, ints(DType::i32, {4}, {-1, 1, 3, 100}), {2}, 3);
    add("one", dtype, index_of(1), {2}, 3);
    add("scalar rows", dtype, ints(DType::i32, {3}, {1, 1, 0}), {}, 2);
    add("deep rows", dtype, ints(DType::i32, {2}, {1, 0}), {2, 2}, 2);
    add("no ids", dtype, Literal({DType::i32, {0}}), {2}, 2);
  }
}

// Placements of slices: the operand, the indices and how they go together.
struct Placement {
  const char* label;
  Dims operand;
  Literal indices;
  GatherDims dims;
  Dims sizes;
};
std::vector<Placement> placements() {
  return {
      {"points", {3, 4}, ints(DType::i32, {3, 2}, {0, 3, 2, 1, 0, 0}), {{}, {0, 1}, {}, {}, {0, 1}}, {1, 1}},
      {"blocks", {4, 5}, ints(DType::i32, {2, 2}, {1, 0, 3, 2}), {{1, 2}, {}, {}, {}, {1, 0}}, {2, 3}},
      {"overlapping blocks", {5}, ints(DType::i32, {3, 1}, {0, 1, 1}), {{1}, {}, {}, {}, {0}}, {3}},
      {"reaching out", {3, 4}, ints(DType::i32, {4, 1}, {-1, 2, 3, 9}), {{0}, {1}, {}, {}, {1}}, {2, 1}},
      {"batch", {2, 3, 2}, ints(DType::i32, {2, 4, 1}, {0, 2, 2, 1, 1, 1, 0, 5}), {{2}, {1}, {0}, {0}, {1}}, {1, 1, 2}},
      {"two batches", {2, 3, 2}, ints(DType::i32, {2, 2, 1}, {0, 2, 1, 1}), {{}, {1}, {0, 2}, {1, 0}, {1}}, {1, 1, 1}},
      {"no index", {3, 2}, Literal({DType::i32, {2, 0}}), {{1, 2}, {}, {}, {}, {}}, {2, 2}},
      {"nowhere", {3}, Literal({DType::i32, {0, 1}}), {{}, {0}, {}, {}, {0}}, {1}},
      {"empty slices", {3, 2}, ints(DType::i32, {2, 1}, {0, 1}), {{1}, {0}, {}, {}, {0}}, {1, 0}},
      {"once", {3}, ints(DType::i32, {1}, {1}), {{0}, {}, {}, {}, {0}}, {2}},
  };
}

void add_gather(CaseList& list) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Placement& p : placements()) {
      const TensorType type{dtype, p.operand};
      list.add(
          "gather", std::string(p.label) + " " + to_string(type), {sample(type, 0, 50), p.indices},
          [p](const Tensors& x) { return Tensors{gather(x[0], x[1], p.dims, p.sizes)}; }, step_of(dtype));
    }
    const TensorType type{dtype, {2, 3}};
    list.add(
        "gather", "along " + to_string(type),
        {sample(type, 0, 50), ints(DType::i32, {2, 4}, {0, 2, -1, 1, 9, 1, 1, 0})},
        [](const Tensors& x) { return Tensors{take_along(x[0], x[1], 1)}; }, step_of(dtype));
  }
}

using ScatterFn = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const GatherDims&);

void add_scatter(CaseList& list, const char* op, ScatterFn fn, bool differentiable) {
  const auto add = [&](const Placement& p, DType dtype) {
    const TensorType type{dtype, p.operand};
    const std::vector<TensorType> params = {type, p.indices.type()};
    const Graph read =
        make_graph(params, [&](const Tensors& x) { return Tensors{gather(x[0], x[1], p.dims, p.sizes)}; });
    list.add(
        op, std::string(p.label) + " " + to_string(type),
        {sample(type, 0, 50), p.indices, sample(read.result_types()[0], 0, 50, 3)},
        [=](const Tensors& x) { return Tensors{fn(x[0], x[1], x[2], p.dims)}; }, differentiable ? step_of(dtype) : 0);
  };
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Placement& p : placements()) add(p, dtype);
  }
  for (const DType dtype : {DType::bf16, DType::f16, DType::f8e5m2, DType::i8, DType::i32, DType::u32}) {
    add(placements()[0], dtype);
  }
}

}  // namespace

void add_index_cases(CaseList& list) {
  add_dynamic_slice(list);
  add_dynamic_update_slice(list);
  add_take(list);
  add_gather(list);
  add_scatter(list, "scatter_add", scatter_add, true);
  add_scatter_rows(list);
  add_scatter(list, "scatter_set", scatter_set, true);
  add_scatter(list, "scatter_max", scatter_max, false);
  add_scatter(list, "scatter_min", scatter_min, false);
}

}  // namespace tenon
