// Cases of contractions, reductions and sort.

#include "tenon/ir/cases/case_list.h"
#include "tenon/ir/ops/contract.h"
#include "tenon/ir/ops/shape.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

void add_dot(CaseList& list) {
  const auto add = [&](const std::string& label, const TensorType& x, const TensorType& y, const DotDims& dims,
                       DType out, DotPrecision precision = DotPrecision::fast) {
    // Eighths between -2 and 2: products and sums are exact in f32 and wider.
    list.add(
        "dot_general", label, {eighths(x), eighths(y, 1)},
        [=](const Tensors& t) { return Tensors{dot_general(t[0], t[1], dims, out, precision)}; },
        out == DType::f64 ? kSmooth : 0);
  };
  const DotDims matrix{{}, {}, {1}, {0}};
  for (const DType d : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i8, DType::u32}) {
    add("matrix " + std::string(to_string(d)), {d, {2, 3}}, {d, {3, 4}}, matrix, d);
  }
  for (const DType d : {DType::bf16, DType::f16, DType::f8e4m3fn, DType::f8e5m2}) {
    add(std::string(to_string(d)) + " to f32", {d, {2, 3}}, {d, {3, 4}}, matrix, DType::f32);
  }
  add("i8 to i32", {DType::i8, {2, 3}}, {DType::i8, {3, 4}}, matrix, DType::i32);
  for (const DType d : {DType::f32, DType::f64}) {
    const std::string name(to_string(d));
    add("full precision " + name, {d, {2, 3}}, {d, {3, 4}}, matrix, d, DotPrecision::full);
    add("batch " + name, {d, {2, 3, 4}}, {d, {2, 4, 5}}, {{0}, {0}, {2}, {1}}, d);
    add("batch anywhere " + name, {d, {4, 2, 3}}, {d, {3, 5, 4, 2}}, {{1, 2}, {3, 0}, {0}, {2}}, d);
    add("two contracted " + name, {d, {2, 3, 4}}, {d, {4, 5, 3}}, {{}, {}, {2, 1}, {0, 2}}, d);
    add("outer " + name, {d, {2}}, {d, {3}}, {{}, {}, {}, {}}, d);
    add("inner " + name, {d, {3}}, {d, {3}}, {{}, {}, {0}, {0}}, d);
    add("elementwise " + name, {d, {3}}, {d, {3}}, {{0}, {0}, {}, {}}, d);
    add("over nothing " + name, {d, {2, 0}}, {d, {0, 3}}, matrix, d);
    add("of nothing " + name, {d, {0, 2}}, {d, {2, 3}}, matrix, d);
    add("scalars " + name, {d, {}}, {d, {}}, {{}, {}, {}, {}}, d);
  }
}

using ReduceFn = Tensor (*)(const Tensor&, Dims);

void add_reduce(CaseList& list, const char* op, ReduceFn fn, bool smooth) {
  const auto add = [&](const std::string& label, const Literal& x, const Dims& dims) {
    list.add(
        op, label + " " + to_string(x.type()), {x}, [=](const Tensors& t) { return Tensors{fn(t[0], dims)}; },
        smooth && x.dtype() == DType::f64 ? kSmooth : 0);
  };
  for (const DType dtype : kFloats) add("rows", sample({dtype, {2, 3}}, 0.5, 2), {1});
  for (const DType dtype : kIntegers) add("rows", ints(dtype, {2, 3}, {1, -5, 3, 100, 7, 100}), {1});
  for (const DType dtype : {DType::f32, DType::f64}) {
    add("outer two", sample({dtype, {2, 3, 2}}, 0.5, 2), {0, 2});
    add("all", sample({dtype, {2, 3}}, 0.5, 2), {0, 1});
    add("size one", sample({dtype, {2, 1}}, 0.5, 2), {1});
  }
  add("over nothing", Literal({DType::f32, {2, 0}}), {1});
  add("over nothing", Literal({DType::i32, {2, 0}}), {1});
  add("to nothing", Literal({DType::f32, {0, 2}}), {1});
  add("edges", floats(DType::f32, {4, 2}, {1, kNaN, kInf, -kInf, -kInf, -kInf, kInf, 1}), {1});
}

void add_logical(CaseList& list, const char* op, ReduceFn fn) {
  const auto add = [&](const char* label, const Literal& x, const Dims& dims) {
    list.add(op, label, {x}, [=](const Tensors& t) { return Tensors{fn(t[0], dims)}; });
  };
  const Literal x = ints(DType::i1, {4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  add("rows", x, {1});
  add("all", x, {0, 1});
  add("over nothing", Literal({DType::i1, {2, 0}}), {1});
}

void add_sort(CaseList& list) {
  const auto add = [&](const std::string& label, const Literal& x, int64_t dim, bool descending) {
    list.add(
        "sort", label, {x}, [=](const Tensors& t) { return Tensors{sort(t[0], dim, descending)}; },
        x.dtype() == DType::f64 ? kSmooth : 0);
  };
  for (const DType dtype : kFloats)
    add("rows " + std::string(to_string(dtype)), sample({dtype, {2, 5}}, -2, 2), 1, false);
  for (const DType dtype : kIntegers) {
    add("descending " + std::string(to_string(dtype)), ints(dtype, {6}, {3, -1, 100, 0, 3, -100}), 0, true);
  }
  add("columns", sample({DType::f32, {4, 2, 3}}, -2, 2), 0, true);
  const Literal edges = floats(DType::f32, {7}, {kNaN, 1, kInf, -kInf, kNaN, -1, 0});
  add("edges", edges, 0, false);
  add("edges descending", edges, 0, true);
  add("one", sample({DType::f32, {1}}, -2, 2), 0, false);
  add("nothing", Literal({DType::f32, {2, 0}}), 1, false);
  // Equal keys keep their order.
  const Literal keys = ints(DType::i32, {2, 4}, {1, 0, 1, 0, 3, 3, 3, 2});
  for (const DType dtype : {DType::f32, DType::f64}) {
    list.add(
        "sort", "with others " + std::string(to_string(dtype)),
        {sample({dtype, {2, 4}}, -2, 2), sample({dtype, {2, 4}}, -2, 2, 1), keys},
        [](const Tensors& t) { return sort_together(t, 1, true); }, dtype == DType::f64 ? kSmooth : 0);
    list.add(
        "sort", "by integers " + std::string(to_string(dtype)), {keys, sample({dtype, {2, 4}}, -2, 2)},
        [](const Tensors& t) { return sort_together(t, 0); }, dtype == DType::f64 ? kSmooth : 0);
  }
  list.add("sort", "i1 along", {keys, ints(DType::i1, {2, 4}, {1, 0, 0, 1, 1, 0, 1, 0})},
           [](const Tensors& t) { return sort_together(t, 1); });
}

void add_top_k(CaseList& list) {
  const auto add = [&](const std::string& label, const Literal& x, int64_t k) {
    list.add(
        "top_k", label + " " + to_string(x.type()), {x},
        [=](const Tensors& t) {
          const TopK top = top_k(t[0], k);
          return Tensors{top.values, top.indices};
        },
        x.dtype() == DType::f64 ? kSmooth : 0);
  };
  for (const DType dtype : kFloats) add("rows", sample({dtype, {2, 5}}, -2, 2), 3);
  for (const DType dtype : kIntegers) add("ties", ints(dtype, {6}, {3, -1, 100, 3, 3, -100}), 4);
  add("all", sample({DType::f32, {2, 2, 3}}, -2, 2), 3);
  add("none", sample({DType::f32, {3}}, -2, 2), 0);
  add("one of one", sample({DType::f32, {1}}, -2, 2), 1);
  add("of nothing", Literal({DType::f32, {0, 3}}), 2);
  add("edges", floats(DType::f32, {7}, {1, kNaN, kInf, -kInf, 0.0, -1, kNaN}), 7);
}

}  // namespace

void add_contract_cases(CaseList& list) {
  add_dot(list);
  add_reduce(list, "reduce_sum", reduce_sum, true);
  add_reduce(list, "reduce_prod", reduce_prod, false);
  add_reduce(list, "reduce_max", reduce_max, true);
  add_reduce(list, "reduce_min", reduce_min, true);
  add_logical(list, "reduce_and", reduce_and);
  add_logical(list, "reduce_or", reduce_or);
  add_sort(list);
  add_top_k(list);
}

}  // namespace tenon
