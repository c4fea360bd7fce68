// Cases of constants, of ops that move elements, and of annotations.
#include <limits>

#include "tenon/ir/cases/case_list.h"
#include "tenon/ir/ops/annotate.h"
#include "tenon/ir/ops/shape.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;
constexpr DType kMoved[] = {DType::f32, DType::f64, DType::bf16, DType::f8e4m3fn, DType::i8, DType::u32, DType::i1};

// One case for each dtype, as moving elements treats all alike.
void add_moved(CaseList& list, const char* op, const char* label, const Dims& dims, const TensorFn& build) {
  for (const DType dtype : kMoved) {
    const TensorType type{dtype, dims};
    list.add(op, std::string(label) + " " + to_string(type), {sample(type, 0, 50)}, build,
             dtype == DType::f64 ? kSmooth : 0);
  }
}
void add_f32(CaseList& list, const char* op, const char* label, const Dims& dims, const TensorFn& build) {
  list.add(op, label, {sample({DType::f32, dims}, 0, 50)}, build);
}

void add_constant(CaseList& list) {
  const auto add = [&](const char* label, const Literal& value) {
    list.add("constant", label, {}, [value](const Tensors&) { return Tensors{constant(value)}; });
  };
  add("f32[2,3]", sample({DType::f32, {2, 3}}, -2, 2));
  add("special f32", floats(DType::f32, {2, 3}, {kInf, -kInf, kNaN, -0.0, 0x1p-149, 3.4e38}));
  add("splat", floats(DType::f32, {2, 2}, {0.1, 0.1, 0.1, 0.1}));
  add("empty", Literal({DType::f32, {0, 2}}));
  add("scalar f64", floats(DType::f64, {}, {0.1}));
  for (const DType dtype : kFloats) add("float", floats(dtype, {5}, {1.5, -0.25, 0, 448, kNaN}));
  for (const DType dtype : kIntegers) add("integer", ints(dtype, {4}, {0, 1, -1, std::numeric_limits<int64_t>::min()}));
  add("i1[2,2]", ints(DType::i1, {2, 2}, {0, 1, 1, 0}));
  add("i1 splat", ints(DType::i1, {2}, {1, 1}));
}

void add_iota(CaseList& list) {
  const auto add = [&](const TensorType& type, int64_t dim) {
    list.add("iota", to_string(type) + " along " + std::to_string(dim), {},
             [type, dim](const Tensors&) { return Tensors{iota(type, dim)}; });
  };
  add({DType::i32, {2, 3}}, 1);
  add({DType::i32, {2, 3}}, 0);
  add({DType::f32, {4, 1}}, 0);
  for (const DType dtype : {DType::f64, DType::bf16, DType::f16, DType::i8, DType::u32, DType::u64})
    add({dtype, {3}}, 0);
  add({DType::f32, {0, 2}}, 1);
}

void add_broadcast(CaseList& list) {
  const auto to = [](const Dims& shape, const Dims& dims) {
    return [=](const Tensors& x) { return Tensors{broadcast_in_dim(x[0], shape, dims)}; };
  };
  add_moved(list, "broadcast_in_dim", "to [2,3]", {3}, to({2, 3}, {1}));
  add_moved(list, "broadcast_in_dim", "repeat and add", {2, 1}, to({2, 4, 3}, {0, 2}));
  add_moved(list, "broadcast_in_dim", "scalar", {}, to({2, 3}, {}));
  add_f32(list, "broadcast_in_dim", "to nothing", {1}, to({0}, {0}));
  add_f32(list, "broadcast_in_dim", "from nothing", {0}, to({2, 0}, {1}));
}

void add_reshape(CaseList& list) {
  const auto to = [](const Dims& shape) { return [=](const Tensors& x) { return Tensors{reshape(x[0], shape)}; }; };
  add_moved(list, "reshape", "to [3,2]", {2, 3}, to({3, 2}));
  add_f32(list, "reshape", "scalar to [1,1]", {}, to({1, 1}));
  add_f32(list, "reshape", "[1] to scalar", {1}, to({}));
  add_f32(list, "reshape", "empty", {0, 3}, to({0}));
}

void add_transpose(CaseList& list) {
  const auto by = [](const Dims& p) { return [=](const Tensors& x) { return Tensors{transpose(x[0], p)}; }; };
  add_moved(list, "transpose", "2d", {2, 3}, by({1, 0}));
  add_moved(list, "transpose", "3d", {2, 3, 4}, by({2, 0, 1}));
  add_f32(list, "transpose", "empty", {2, 0}, by({1, 0}));
}

void add_slice(CaseList& list) {
  const auto of = [](const Dims& start, const Dims& limit, const Dims& strides) {
    return [=](const Tensors& x) { return Tensors{slice(x[0], start, limit, strides)}; };
  };
  add_moved(list, "slice", "plain", {3, 4}, of({1, 0}, {3, 3}, {}));
  add_moved(list, "slice", "strided", {5, 4}, of({1, 0}, {5, 4}, {3, 2}));
  add_f32(list, "slice", "to nothing", {3, 2}, of({2, 0}, {2, 2}, {}));
  add_f32(list, "slice", "of nothing", {0, 2}, of({0, 0}, {0, 1}, {}));
}

void add_pad(CaseList& list) {
  const auto add = [&](const std::string& label, DType dtype, const Dims& dims, const Dims& low, const Dims& high,
                       const Dims& interior) {
    const Literal x = sample({dtype, dims}, 0, 50), value = sample({dtype, {}}, 0, 50, 3);
    list.add(
        "pad", label + " " + to_string(x.type()), {x, value},
        [=](const Tensors& t) { return Tensors{pad(t[0], t[1], low, high, interior)}; },
        dtype == DType::f64 ? kSmooth : 0);
  };
  for (const DType dtype : kMoved) add("grow", dtype, {2, 3}, {1, 0}, {0, 2}, {0, 1});
  add("crop", DType::f64, {4, 3}, {-1, 2}, {-2, -1}, {0, 0});
  add("spread and crop", DType::f64, {3, 3}, {-1, 1}, {2, -3}, {2, 1});
  add("crop all", DType::f64, {3}, {-3}, {0}, {0});
  add("of nothing", DType::f32, {0, 2}, {1, 0}, {2, 0}, {3, 0});
  add("to nothing", DType::f32, {2, 2}, {-2, 0}, {0, 0}, {0, 0});
}

void add_concatenate(CaseList& list) {
  const TensorFn rows = [](const Tensors& x) { return Tensors{concatenate(x, 0)}; };
  for (const DType dtype : kMoved) {
    const Literal a = sample({dtype, {2, 3}}, 0, 50), b = sample({dtype, {1, 3}}, 0, 50, 2);
    list.add("concatenate", to_string(a.type()), {a, b}, rows, dtype == DType::f64 ? kSmooth : 0);
  }
  const Literal a = sample({DType::f64, {2, 1}}, 0, 50), b = sample({DType::f64, {2, 0}}, 0, 50),
                c = sample({DType::f64, {2, 2}}, 0, 50, 4);
  list.add(
      "concatenate", "three along the last", {a, b, c}, [](const Tensors& x) { return Tensors{concatenate(x, -1)}; },
      kSmooth);
}

void add_reverse(CaseList& list) {
  const auto over = [](const Dims& dims) { return [=](const Tensors& x) { return Tensors{reverse(x[0], dims)}; }; };
  add_moved(list, "reverse", "both", {2, 3}, over({0, 1}));
  add_moved(list, "reverse", "one", {2, 3, 2}, over({1}));
  add_f32(list, "reverse", "size one", {1}, over({0}));
  add_f32(list, "reverse", "empty", {2, 0}, over({1}));
}

void add_annotations(CaseList& list) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32, DType::i1}) {
    const double step = dtype == DType::f64 ? kSmooth : 0;
    const TensorType type{dtype, {2, 3}};
    const std::vector<Literal> x = {sample(type, 0, 9)};
    list.add("tag", to_string(type), x, [](const Tensors& t) { return Tensors{tag(t[0], "hidden")}; }, step);
    list.add("place", to_string(type), x, [](const Tensors& t) { return Tensors{to_device(to_host(t[0]))}; }, step);
    list.add("stop_gradient", to_string(type), x, [](const Tensors& t) { return Tensors{stop_gradient(t[0])}; });
    list.add(
        "sharding_constraint", to_string(type), x,
        [](const Tensors& t) { return Tensors{shard(t[0], PartitionSpec{"data"})}; }, step);
    list.add(
        "optimization_barrier", to_string(type), {x[0], sample({dtype, {}}, 0, 9)},
        [](const Tensors& t) { return optimization_barrier(t); }, step);
  }
}

}  // namespace

void add_shape_cases(CaseList& list) {
  add_constant(list);
  add_iota(list);
  add_broadcast(list);
  add_reshape(list);
  add_transpose(list);
  add_slice(list);
  add_pad(list);
  add_concatenate(list);
  add_reverse(list);
  add_annotations(list);
}

}  // namespace tenon
