// Cases of compare, select, clamp, convert and bitcast.

#include "tenon/ir/cases/case_list.h"
#include "tenon/ir/ops/elementwise.h"

namespace tenon {
namespace {

using BinaryFn = Tensor (*)(const Tensor&, const Tensor&);

void add_compare(CaseList& list, const char* label, BinaryFn fn) {
  const TensorFn build = [fn](const std::vector<Tensor>& x) { return std::vector<Tensor>{fn(x[0], x[1])}; };
  const auto add = [&](const Literal& x, const Literal& y) {
    list.add("compare", std::string(label) + " " + to_string(x.type()), {x, y}, build);
  };
  for (const DType dtype : kFloats) {
    add(floats(dtype, {2, 3}, {1, 2, kNaN, -1, 0, kInf}), floats(dtype, {2, 3}, {1, 1, kNaN, 2, -0.0, 3}));
  }
  for (const DType dtype : kIntegers) add(ints(dtype, {4}, {0, -1, 5, 5}), ints(dtype, {4}, {0, 1, -5, 6}));
  add(ints(DType::i1, {4}, {0, 0, 1, 1}), ints(DType::i1, {4}, {0, 1, 0, 1}));
  add(floats(DType::f32, {}, {1}), floats(DType::f32, {}, {2}));
  add(floats(DType::f32, {0}, {}), floats(DType::f32, {0}, {}));
}

void add_select(CaseList& list) {
  const TensorFn build = [](const std::vector<Tensor>& x) { return std::vector<Tensor>{select(x[0], x[1], x[2])}; };
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::f8e4m3fn, DType::f8e5m2, DType::i8,
                            DType::i32, DType::u32, DType::i1}) {
    const TensorType type{dtype, {2, 3}};
    list.add("select", to_string(type), {sample({DType::i1, {2, 3}}, 0, 1), sample(type, 0, 9), sample(type, 0, 9, 1)},
             build, dtype == DType::f64 ? kSmooth : 0);
  }
  for (const Dims& dims : {Dims{}, Dims{0}}) {
    const TensorType type{DType::f32, dims};
    list.add("select", to_string(type), {sample({DType::i1, dims}, 0, 1), sample(type, 0, 9), sample(type, 0, 9, 1)},
             build);
  }
}

void add_clamp(CaseList& list) {
  const TensorFn build = [](const std::vector<Tensor>& x) { return std::vector<Tensor>{clamp(x[0], x[1], x[2])}; };
  for (const DType dtype : kFloats) {
    const TensorType type{dtype, {2, 3}};
    list.add("clamp", to_string(type), {sample(type, -2, 2), sample(type, -1.5, 0.4, 1), sample(type, 0.1, 1.5, 2)},
             build, dtype == DType::f64 ? kSmooth : 0);
  }
  for (const DType dtype : kIntegers) {
    list.add(
        "clamp", "integers " + std::string(to_string(dtype)),
        {ints(dtype, {5}, {0, 5, -1, 100, 7}), ints(dtype, {5}, {1, 2, 2, 2, 9}), ints(dtype, {5}, {3, 6, 50, 50, 4})},
        build);
  }
  // The bounds cross: `high` wins.
  const TensorType crossed{DType::f64, {5}};
  list.add("clamp", "bounds that cross",
           {sample(crossed, -2, 2), sample(crossed, 0.5, 1, 1), sample(crossed, -1, 0, 2)}, build, kSmooth);
  list.add("clamp", "edges",
           {floats(DType::f32, {5}, {kNaN, kInf, -kInf, 1, 1}), floats(DType::f32, {5}, {0, 0, 0, kNaN, 0}),
            floats(DType::f32, {5}, {2, 2, 2, 2, kNaN})},
           build);
  for (const Dims& dims : {Dims{}, Dims{0, 2}}) {
    const TensorType type{DType::f32, dims};
    list.add("clamp", to_string(type), {sample(type, -2, 2), sample(type, -1, 0), sample(type, 0, 1)}, build);
  }
}

TensorFn converting(DType to) {
  return [to](const std::vector<Tensor>& x) { return std::vector<Tensor>{convert(x[0], to)}; };
}
TensorFn casting(DType to) {
  return [to](const std::vector<Tensor>& x) { return std::vector<Tensor>{bitcast(x[0], to)}; };
}

void add_convert(CaseList& list) {
  const auto add = [&](const Literal& x, DType to, double step = 0) {
    list.add("convert", to_string(x.type()) + " to " + std::string(to_string(to)), {x}, converting(to), step);
  };
  add(eighths({DType::f32, {2, 3}}), DType::bf16, kLinear);
  for (const DType from : kFloats) {
    for (const DType to : kFloats) {
      if (from == to || (from == DType::f32 && to == DType::bf16)) continue;
      const bool exact = from == DType::f32 || from == DType::f64 || from == DType::f16;
      add(exact ? eighths({from, {5}}) : sample({from, {5}}, -2, 2), to, exact && byte_size(to) > 1 ? kLinear : 0);
    }
    for (const DType to : {DType::i8, DType::i32, DType::u32, DType::i64, DType::u8})
      add(sample({from, {5}}, 0, 100), to);
    add(floats(from, {3}, {0, 1, -2}), DType::i1);
  }
  for (const DType from : kIntegers) {
    for (const DType to : kFloats) add(ints(from, {4}, {0, 1, 3, 100}), to);
    for (const DType to : kIntegers) {
      if (from != to) add(ints(from, {6}, {0, 1, -1, 127, 1000, -70000}), to);
    }
    add(ints(from, {3}, {0, 1, 2}), DType::i1);
  }
  for (const DType to : {DType::f32, DType::i32, DType::u8}) add(ints(DType::i1, {2}, {0, 1}), to);
  add(floats(DType::f32, {0}, {}), DType::i32);
  add(floats(DType::f32, {}, {1.5}), DType::f16);
  // Ties, halves and what doesn't fit.
  add(floats(DType::f32, {4}, {1 + 0x1p-8, 1 + 3 * 0x1p-8, 1e30, -1e-30}), DType::bf16);
  add(floats(DType::f32, {6}, {0.5, 1.5, -1.5, 2.5, -0.5, -2.9}), DType::i32);
  for (const DType to : {DType::i32, DType::u32, DType::i8, DType::u8, DType::i64}) {
    list.add("convert", "edges to " + std::string(to_string(to)),
             {floats(DType::f32, {6}, {kNaN, kInf, -kInf, 3e9, -3e9, 1e20})}, converting(to));
  }
  add(ints(DType::i64, {3}, {(int64_t{1} << 40) + 1, -(int64_t{1} << 62) - 1, 16777217}), DType::f32);
  add(ints(DType::u64, {2}, {-1, (int64_t{1} << 62) + 1}), DType::f32);
}

void add_bitcast(CaseList& list) {
  const auto add = [&](const Literal& x, DType to) {
    list.add("bitcast", to_string(x.type()) + " to " + std::string(to_string(to)), {x}, casting(to));
  };
  add(sample({DType::f32, {2, 3}}, -2, 2), DType::i32);
  add(sample({DType::f32, {}}, -2, 2), DType::u32);
  add(ints(DType::u32, {3}, {0, 0x3F800000, -1}), DType::f32);
  add(ints(DType::i32, {3}, {0, 5, -1}), DType::u32);
  add(sample({DType::f64, {3}}, -2, 2), DType::i64);
  add(ints(DType::u64, {2}, {0, 0x3FF0000000000000}), DType::f64);
  add(sample({DType::f16, {3}}, -2, 2), DType::bf16);
  add(sample({DType::f8e5m2, {3}}, -2, 2), DType::u8);
  add(ints(DType::i8, {3}, {0, 1, -100}), DType::f8e4m3fn);
  add(floats(DType::f32, {0}, {}), DType::i32);
}

}  // namespace

void add_compare_cases(CaseList& list) {
  add_compare(list, "LT", less);
  add_compare(list, "EQ", equal);
  add_compare(list, "NE", not_equal);
  add_compare(list, "LE", less_equal);
  add_compare(list, "GT", greater);
  add_compare(list, "GE", greater_equal);
  add_select(list);
  add_clamp(list);
  add_convert(list);
  add_bitcast(list);
}

}  // namespace tenon
