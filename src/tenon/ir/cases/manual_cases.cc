// Cases of custom_vjp, of manual regions and of the collectives in them.
#include "tenon/ir/cases/case_list.h"
#include "tenon/ir/ops/annotate.h"
#include "tenon/ir/ops/custom_vjp.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/manual.h"
#include "tenon/ir/ops/shape.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;
using Specs = std::vector<PartitionSpec>;

void add_custom_vjp(CaseList& list) {
  // exp(x) w, with the derivative written out.
  const TensorFn scaled_exp = [](const Tensors& t) {
    CustomVjp rule;
    rule.forward = [](const Tensors& in) {
      const Tensor y = exp(in[0]) * in[1];
      return CustomVjp::Forward{{y}, {in[0], y}};
    };
    rule.backward = [](const Tensors& saved, const Tensors& cts) {
      return Tensors{cts[0] * saved[1], cts[0] * exp(saved[0])};
    };
    return custom_vjp(t, rule);
  };
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    const TensorType type{dtype, {2, 3}};
    list.add("custom_vjp", to_string(type), {sample(type, -1, 1), sample(type, 1, 2, 1)}, scaled_exp,
             dtype == DType::f64 ? kSmooth : 0);
  }
  list.add("custom_vjp", "integers", {ints(DType::i32, {3}, {1, 2, 3})}, [](const Tensors& t) {
    return custom_vjp(t, {[](const Tensors& in) { return CustomVjp::Forward{{in[0] * 2.0}, {}}; },
                          [](const Tensors&, const Tensors&) { return Tensors{Tensor()}; }});
  });
}

const Mesh kMesh{{"data", 2}, {"model", 2}};

class ManualCases {
 public:
  explicit ManualCases(CaseList& list) : list_(list) {}

  // `body` on x [4, 6] split by `in`, on four devices, and, in place, on one.
  void add(const std::string& op, const std::string& label, const PartitionSpec& in, const PartitionSpec& out,
           const std::function<Tensor(const Tensor&)>& body, std::vector<DType> dtypes = {DType::f32}) {
    for (const Mesh& mesh : {kMesh, Mesh()}) {
      for (const DType dtype : dtypes) {
        const TensorType type{dtype, {4, 6}};
        list_.add(op, label + " " + to_string(type) + (mesh.num_devices() == 1 ? " alone" : ""), {eighths(type)},
                  [=](const Tensors& t) {
                    return manual(mesh, t, {in}, {out}, [&](const Tensors& p) { return Tensors{body(p[0])}; });
                  });
        list_.last().mesh = mesh;
      }
    }
  }

 private:
  CaseList& list_;
};

const std::vector<DType> kNumbers = {DType::f32, DType::f64, DType::bf16, DType::i32};
const PartitionSpec kBoth{"data", "model"}, kRows{"data"}, kColumns{{}, "model"}, kWhole{};

void add_reductions(ManualCases& cases) {
  using Reduce = Tensor (*)(const Tensor&, const Axis&);
  const std::pair<const char*, Reduce> reductions[] = {
      {"all_reduce_sum", all_reduce_sum}, {"all_reduce_max", all_reduce_max}, {"all_reduce_min", all_reduce_min}};
  for (const auto& [name, fn] : reductions) {
    cases.add(name, "along one axis", kBoth, kRows, [f = fn](const Tensor& x) { return f(x, "model"); }, kNumbers);
    cases.add(name, "over all", kBoth, kWhole, [f = fn](const Tensor& x) { return f(x, {"data", "model"}); });
    cases.add(name, "along an axis of one", kRows, kRows, [f = fn](const Tensor& x) { return f(x, "fsdp"); });
  }
  cases.add(
      "reduce_scatter", "columns", kWhole, kColumns,
      [](const Tensor& x) { return reduce_scatter(x * convert(axis_index("model") + 1.0, x.dtype()), "model", 1); },
      {DType::f32, DType::f64, DType::i32});
  cases.add("reduce_scatter", "rows over all", kWhole, {{{"model", "data"}}},
            [](const Tensor& x) { return reduce_scatter(x, {"model", "data"}, 0); });
}

void add_moves(ManualCases& cases) {
  cases.add("all_gather", "rows", kRows, kWhole, [](const Tensor& x) { return all_gather(x, "data", 0); }, kNumbers);
  cases.add("all_gather", "in the other order", {{{"model", "data"}}}, kWhole,
            [](const Tensor& x) { return all_gather(x, {"model", "data"}, 0); });
  cases.add(
      "all_to_all", "rows to columns", kRows, {{}, "data"}, [](const Tensor& x) { return all_to_all(x, "data", 1, 0); },
      kNumbers);
  cases.add("all_to_all", "within a dimension", kColumns, kColumns, [](const Tensor& x) {
    const Tensor four = pad(x, zeros({x.dtype(), {}}), {0, 0}, {0, 4 - x.dim(1) % 4});
    return slice_dim(all_to_all(four, "model", 1, 1), 1, 0, x.dim(1));
  });
  cases.add(
      "collective_permute", "to one side", kRows, kRows,
      [](const Tensor& x) { return collective_permute(x, "data", {{0, manual_scope()->mesh.size("data") - 1}}); },
      kNumbers);
  cases.add("collective_permute", "nowhere", kRows, kRows,
            [](const Tensor& x) { return collective_permute(x, "data", {}); });
  cases.add("collective_permute", "around all", {{{"data", "model"}}}, {{{"data", "model"}}}, [](const Tensor& x) {
    const Mesh& mesh = manual_scope()->mesh;
    std::vector<std::pair<int64_t, int64_t>> ring;
    const int64_t n = mesh.size("data") * mesh.size("model");
    for (int64_t i = 0; i < n; ++i) ring.emplace_back(i, (i + 1) % n);
    return collective_permute(x, {"data", "model"}, ring);
  });
  cases.add("collective_broadcast", "along one axis", kBoth, kRows,
            [](const Tensor& x) { return collective_broadcast(x, "model", manual_scope()->mesh.size("model") - 1); },
            {DType::f32, DType::f64, DType::bf16, DType::f8e4m3fn, DType::i32, DType::i8, DType::u64});
  cases.add("collective_broadcast", "over all, in the other order", kBoth, kWhole, [](const Tensor& x) {
    const int64_t second = manual_scope()->mesh.num_devices() > 1 ? 1 : 0;
    return collective_broadcast(1.0 / (x - x), {"model", "data"}, second) - collective_broadcast(-x, "model", 0);
  });
  cases.add("collective_broadcast", "booleans and -0", kBoth, kRows, [](const Tensor& x) {
    const Tensor zero = collective_broadcast(x * -0.0, "model", 0), flag = greater(x, full_like(x, 1));
    return select(collective_broadcast(flag, "model", 0), 1.0 / zero, zero);
  });
  cases.add("axis_index", "of all", kBoth, kBoth, [](const Tensor& x) {
    return broadcast_to(axis_index({"data", "model"}) * 10.0 + axis_index({"model", "data"}), x.dims());
  });
}

void add_manual(CaseList& list, ManualCases& cases) {
  cases.add("manual", "pieces", kBoth, kBoth, [](const Tensor& x) { return x * 2.0; }, kNumbers);
  list.add("manual", "two results", {eighths({DType::f32, {4, 6}}), eighths({DType::f32, {6}}, 1)},
           [](const Tensors& t) {
             return manual(kMesh, t, {kBoth, {"model"}}, {kBoth, {"model"}},
                           [](const Tensors& p) { return Tensors{p[0] + p[1], p[1] * 3.0}; });
           });
  list.last().mesh = kMesh;
  // Over `model` only: along `data` the partitioner does as it likes.
  list.add("manual", "one axis of two", {eighths({DType::f32, {4, 6}})}, [](const Tensors& t) {
    return manual(kMesh, {shard(t[0], {"data"})}, Specs{kColumns}, Specs{kWhole},
                  [](const Tensors& p) { return Tensors{all_reduce_sum(p[0], "model")}; }, {"model"});
  });
  list.last().mesh = kMesh;
}

}  // namespace

void add_manual_cases(CaseList& list) {
  add_custom_vjp(list);
  ManualCases cases(list);
  add_manual(list, cases);
  add_reductions(cases);
  add_moves(cases);
}

}  // namespace tenon
