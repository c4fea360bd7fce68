// Collectives of manual regions. Attributes: `mesh` and `axes` say which devices are joined.
#include <algorithm>
#include <set>

#include "tenon/ir/ops/combiner.h"
#include "tenon/ir/ops/device_groups.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/manual.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

Axis axes_of(const Attrs& a) { return a.spec("axes").dims()[0]; }
int64_t group_size(const Attrs& a) { return mesh_from(a).shards(axes_of(a)); }

TensorType number(const InferArgs& a) {
  if (a.operands[0].dtype == DType::i1) shape_error("needs numbers, got {}", to_string(a.operands[0]));
  return a.operands[0];
}
TensorType resized(TensorType t, int64_t dim, int64_t times, int64_t by) {
  if (dim < 0 || dim >= t.rank()) shape_error("along dimension {} of {}", dim, to_string(t));
  int64_t& size = t.dims[as_size(dim)];
  if (size * times % by != 0) shape_error("dimension {} of {} isn't divisible by {}", dim, to_string(t), by);
  size = size * times / by;
  return t;
}

// ── text ──
std::string table_text(const std::vector<std::vector<int64_t>>& rows) {
  std::string out;
  for (const auto& row : rows) out += (out.empty() ? "" : ", ") + hlo_list(row);
  return fmt::format("dense<[{}]> : tensor<{}x{}xi64>", out, rows.size(), rows.empty() ? 0 : rows[0].size());
}
std::string groups_text(const Attrs& a) {
  return "replica_groups = " + table_text(device_groups(mesh_from(a), axes_of(a)));
}
std::string channel(HloWriter& w) {
  return fmt::format("channel_handle = #stablehlo.channel_handle<handle = {}, type = 1>", w.fresh_channel());
}

// One device alone: the array itself.
bool print_alone(HloWriter& w, const OpInfo& op) {
  if (group_size(op.attrs) > 1) return false;
  w.bind(op.results[0], w.name(op.operands[0]));
  return true;
}

void print_collective(HloWriter& w, const OpInfo& op, std::string_view name, const std::string& attributes,
                      const std::string& body = {}) {
  w.define(op, fmt::format("\"stablehlo.{}\"({}) <{{{}}}>{} : {}", name, w.names(op.operands), attributes, body,
                           w.signature(op)));
}

std::string combiner_body(HloWriter& w, const OpInfo& op, const Combiner& combiner) {
  const std::string s = hlo_type({w.type(op.operands[0]).dtype, {}}), x = w.fresh(), y = w.fresh(), both = w.fresh();
  return fmt::format(
      " ({{\n    ^bb0({}: {}, {}: {}):\n      {} = stablehlo.{} {}, {} : {}\n"
      "      stablehlo.return {} : {}\n    }})",
      x, s, y, s, both, combiner.hlo_name, x, y, s, both, s);
}

// ── reference meaning: the group's arrays in order ──
struct Gathered {
  std::vector<Literal> arrays;
  size_t place = 0;  // of this device
};
Gathered gather_group(const EvalArgs& a) {
  if (!a.exchange) throw Error(ErrorCode::wrong_context, fmt::format("'{}' outside a manual region", a.op.def->name));
  std::map<int64_t, Literal> all = a.exchange(a.operand(0));
  const std::vector<int64_t> group = group_of(mesh_from(a.attrs()), axes_of(a.attrs()), a.device);
  Gathered out;
  for (size_t i = 0; i < group.size(); ++i) {
    if (group[i] == a.device) out.place = i;
    out.arrays.push_back(std::move(all.at(group[i])));
  }
  return out;
}

Literal combined(const std::vector<Literal>& arrays, const Combiner& combiner) {
  Literal out(arrays[0].type());
  for (int64_t i = 0; i < out.size(); ++i) {
    if (is_float(out.dtype())) {
      double value = arrays[0].as_double(i);
      for (size_t k = 1; k < arrays.size(); ++k) value = combiner.on_float(value, arrays[k].as_double(i));
      out.set(i, value);
    } else {
      int64_t value = arrays[0].as_int(i);
      for (size_t k = 1; k < arrays.size(); ++k) value = combiner.on_int(value, arrays[k].as_int(i), out.dtype());
      out.set_int(i, value);
    }
  }
  return out;
}

// Piece `i` of `count` along `dim`.
Literal piece_of(const Literal& x, int64_t dim, size_t i, size_t count) {
  TensorType type = x.type();
  type.dims[as_size(dim)] /= static_cast<int64_t>(count);
  const Dims strides = row_major_strides(x.dims());
  const int64_t origin = static_cast<int64_t>(i) * type.dims[as_size(dim)] * strides[as_size(dim)];
  Literal out(type);
  int64_t to = 0;
  for_each_index(type.dims,
                 [&](const Dims& index) { copy_element(out, to++, x, origin + flat_index(index, strides)); });
  return out;
}
Literal joined(const std::vector<Literal>& arrays, int64_t dim) {
  TensorType type = arrays[0].type();
  const int64_t size = type.dims[as_size(dim)];
  type.dims[as_size(dim)] *= static_cast<int64_t>(arrays.size());
  const Dims strides = row_major_strides(type.dims);
  Literal out(type);
  for (size_t k = 0; k < arrays.size(); ++k) {
    const int64_t origin = static_cast<int64_t>(k) * size * strides[as_size(dim)];
    int64_t from = 0;
    for_each_index(arrays[k].dims(), [&](const Dims& index) {
      copy_element(out, origin + flat_index(index, strides), arrays[k], from++);
    });
  }
  return out;
}

// ── the ops ──
Tensor reduced(const OpDef& def, const Tensor& x, const Attrs& a) {
  return emit1(def, {x}, {{"mesh", a.dims("mesh")}, {"axes", a.spec("axes")}});
}

struct AllReduceDef : OpDef {
  Combiner combiner;
};
const Combiner& all_reduce_combiner(const OpInfo& op) { return static_cast<const AllReduceDef&>(*op.def).combiner; }

std::vector<TensorType> infer_all_reduce(const InferArgs& a) { return {number(a)}; }
void print_all_reduce(HloWriter& w, const OpInfo& op) {
  if (print_alone(w, op)) return;
  const std::string attributes = groups_text(op.attrs) + ", " + channel(w) + ", use_global_device_ids";
  print_collective(w, op, "all_reduce", attributes, combiner_body(w, op, all_reduce_combiner(op)));
}
std::vector<Literal> eval_all_reduce(const EvalArgs& a) {
  return {combined(gather_group(a).arrays, all_reduce_combiner(a.op))};
}
extern const AllReduceDef kAllReduceSum;
std::vector<Tensor> vjp_all_sum(const VjpArgs& a) { return {reduced(kAllReduceSum, a.cotangent(), a.attrs)}; }
std::vector<Tensor> vjp_all_choice(const VjpArgs& a) {
  const Tensor chosen = convert(equal(a.operand(0), a.results[0]), a.cotangent().dtype());
  return {chosen * reduced(kAllReduceSum, a.cotangent(), a.attrs) / reduced(kAllReduceSum, chosen, a.attrs)};
}
constexpr AllReduceDef all_reduce_def(std::string_view name, std::vector<Tensor> (*vjp)(const VjpArgs&),
                                      Combiner combiner) {
  return {{name, infer_all_reduce, print_all_reduce, eval_all_reduce, vjp, {}, nullptr, Recompute::expensive},
          combiner};
}
const AllReduceDef kAllReduceSum = all_reduce_def("all_reduce_sum", vjp_all_sum, kCombineSum);
const AllReduceDef kAllReduceMax = all_reduce_def("all_reduce_max", vjp_all_choice, kCombineMax);
const AllReduceDef kAllReduceMin = all_reduce_def("all_reduce_min", vjp_all_choice, kCombineMin);

Tensor along(const OpDef& def, const Tensor& x, const Attrs& a, int64_t dim) {
  return emit1(def, {x}, {{"mesh", a.dims("mesh")}, {"axes", a.spec("axes")}, {"dim", dim}});
}

std::vector<TensorType> infer_all_gather(const InferArgs& a) {
  return {resized(a.operands[0], a.attrs.integer("dim"), group_size(a.attrs), 1)};
}
void print_all_gather(HloWriter& w, const OpInfo& op) {
  if (print_alone(w, op)) return;
  print_collective(w, op, "all_gather",
                   fmt::format("all_gather_dim = {} : i64, {}, {}, use_global_device_ids", op.attrs.integer("dim"),
                               groups_text(op.attrs), channel(w)));
}
std::vector<Literal> eval_all_gather(const EvalArgs& a) {
  return {joined(gather_group(a).arrays, a.attrs().integer("dim"))};
}
extern const OpDef kReduceScatter;
std::vector<Tensor> vjp_all_gather(const VjpArgs& a) {
  return {along(kReduceScatter, a.cotangent(), a.attrs, a.attrs.integer("dim"))};
}
const OpDef kAllGather{"all_gather", infer_all_gather, print_all_gather,    eval_all_gather, vjp_all_gather,
                       {},           no_flops,         Recompute::expensive};

std::vector<TensorType> infer_reduce_scatter(const InferArgs& a) {
  return {resized(number(a), a.attrs.integer("dim"), 1, group_size(a.attrs))};
}
void print_reduce_scatter(HloWriter& w, const OpInfo& op) {
  if (print_alone(w, op)) return;
  const std::string attributes = fmt::format("scatter_dimension = {} : i64, {}, {}, use_global_device_ids",
                                             op.attrs.integer("dim"), groups_text(op.attrs), channel(w));
  print_collective(w, op, "reduce_scatter", attributes, combiner_body(w, op, kCombineSum));
}
std::vector<Literal> eval_reduce_scatter(const EvalArgs& a) {
  const Gathered group = gather_group(a);
  return {piece_of(combined(group.arrays, kCombineSum), a.attrs().integer("dim"), group.place, group.arrays.size())};
}
std::vector<Tensor> vjp_reduce_scatter(const VjpArgs& a) {
  return {along(kAllGather, a.cotangent(), a.attrs, a.attrs.integer("dim"))};
}
const OpDef kReduceScatter{
    "reduce_scatter", infer_reduce_scatter, print_reduce_scatter, eval_reduce_scatter, vjp_reduce_scatter, {},
    nullptr,          Recompute::expensive};

std::vector<TensorType> infer_all_to_all(const InferArgs& a) {
  const int64_t n = group_size(a.attrs);
  return {resized(resized(a.operands[0], a.attrs.integer("split"), 1, n), a.attrs.integer("concat"), n, 1)};
}
void print_all_to_all(HloWriter& w, const OpInfo& op) {
  if (print_alone(w, op)) return;
  print_collective(
      w, op, "all_to_all",
      fmt::format("split_dimension = {} : i64, concat_dimension = {} : i64, split_count = {} : i64, {}, {}",
                  op.attrs.integer("split"), op.attrs.integer("concat"), group_size(op.attrs), groups_text(op.attrs),
                  channel(w)));
}
std::vector<Literal> eval_all_to_all(const EvalArgs& a) {
  const Gathered group = gather_group(a);
  std::vector<Literal> mine;
  for (const Literal& x : group.arrays) {
    mine.push_back(piece_of(x, a.attrs().integer("split"), group.place, group.arrays.size()));
  }
  return {joined(mine, a.attrs().integer("concat"))};
}
Tensor exchanged(const Tensor& x, const Attrs& a, int64_t split, int64_t concat);
std::vector<Tensor> vjp_all_to_all(const VjpArgs& a) {
  return {exchanged(a.cotangent(), a.attrs, a.attrs.integer("concat"), a.attrs.integer("split"))};
}
const OpDef kAllToAll{"all_to_all", infer_all_to_all, print_all_to_all,    eval_all_to_all, vjp_all_to_all,
                      {},           no_flops,         Recompute::expensive};
Tensor exchanged(const Tensor& x, const Attrs& a, int64_t split, int64_t concat) {
  return emit1(kAllToAll, {x},
               {{"mesh", a.dims("mesh")}, {"axes", a.spec("axes")}, {"split", split}, {"concat", concat}});
}

// Attributes `sources` and `targets`: places in the group.
std::vector<TensorType> infer_permute(const InferArgs& a) {
  const int64_t n = group_size(a.attrs);
  for (const char* side : {"sources", "targets"}) {
    const Dims& places = a.attrs.dims(side);
    const bool fits = std::set<int64_t>(places.begin(), places.end()).size() == places.size() &&
                      std::all_of(places.begin(), places.end(), [&](int64_t p) { return p >= 0 && p < n; });
    if (!fits) shape_error("{} {} of a group of {}", side, to_string(places), n);
  }
  return {a.operands[0]};
}
void print_permute(HloWriter& w, const OpInfo& op) {
  const Dims &sources = op.attrs.dims("sources"), &targets = op.attrs.dims("targets");
  if (!sources.empty() && print_alone(w, op)) return;
  std::vector<std::vector<int64_t>> pairs;
  for (const auto& group : device_groups(mesh_from(op.attrs), axes_of(op.attrs))) {
    for (size_t i = 0; i < sources.size(); ++i)
      pairs.push_back({group[as_size(sources[i])], group[as_size(targets[i])]});
  }
  if (pairs.empty()) {  // nobody sends: zeros
    const TensorType& type = w.type(op.results[0]);
    return w.define(op, fmt::format("stablehlo.constant {}", hlo_dense(Literal(type))));
  }
  print_collective(w, op, "collective_permute",
                   fmt::format("source_target_pairs = {}, {}", table_text(pairs), channel(w)));
}
std::vector<Literal> eval_permute(const EvalArgs& a) {
  const Gathered group = gather_group(a);
  const Dims &sources = a.attrs().dims("sources"), &targets = a.attrs().dims("targets");
  for (size_t i = 0; i < targets.size(); ++i) {
    if (as_size(targets[i]) == group.place) return {group.arrays[as_size(sources[i])]};
  }
  return {Literal(a.results[0])};
}
Tensor permuted(const Tensor& x, const Attrs& a, const Dims& sources, const Dims& targets);
std::vector<Tensor> vjp_permute(const VjpArgs& a) {
  return {permuted(a.cotangent(), a.attrs, a.attrs.dims("targets"), a.attrs.dims("sources"))};
}
const OpDef kPermute{"collective_permute", infer_permute, print_permute, eval_permute, vjp_permute, {}, no_flops,
                     Recompute::expensive};
Tensor permuted(const Tensor& x, const Attrs& a, const Dims& sources, const Dims& targets) {
  return emit1(kPermute, {x},
               {{"mesh", a.dims("mesh")}, {"axes", a.spec("axes")}, {"sources", sources}, {"targets", targets}});
}

// Attribute `source`: a place in the group. Where it isn't, the array is zero; the sum, of integers so that each bit is
// kept, gives it to all. XLA has an op for it too, but not on CPUs.
std::vector<TensorType> infer_broadcast(const InferArgs& a) {
  const int64_t source = a.attrs.integer("source"), n = group_size(a.attrs);
  if (source < 0 || source >= n) shape_error("source {} of a group of {}", source, n);
  return {a.operands[0]};
}
std::string bits_type(DType dtype, const Dims& dims) {
  std::string out = "tensor<";
  for (const int64_t d : dims) out += fmt::format("{}x", d);
  return out + fmt::format("ui{}>", 8 * byte_size(dtype));
}
void print_broadcast(HloWriter& w, const OpInfo& op) {
  if (print_alone(w, op)) return;
  const TensorType& type = w.type(op.results[0]);
  const std::string text = hlo_type(type), bits = bits_type(type.dtype, type.dims), s = bits_type(type.dtype, {});
  const std::string cast = type.dtype == DType::i1 ? "convert" : "bitcast_convert";
  std::vector<std::vector<int64_t>> pairs;
  for (const auto& group : device_groups(mesh_from(op.attrs), axes_of(op.attrs))) {
    const int64_t device = group[as_size(op.attrs.integer("source"))];
    pairs.push_back({device, device});
  }
  const std::string x = w.fresh(), mine = w.fresh(), a = w.fresh(), b = w.fresh(), both = w.fresh(), all = w.fresh();
  w.line(fmt::format("{} = stablehlo.{} {} : ({}) -> {}", x, cast, w.name(op.operands[0]), text, bits));
  w.line(fmt::format("{} = \"stablehlo.collective_permute\"({}) <{{source_target_pairs = {}, {}}}> : ({}) -> {}", mine,
                     x, table_text(pairs), channel(w), bits, bits));
  w.line(fmt::format("{} = \"stablehlo.all_reduce\"({}) <{{{}, {}, use_global_device_ids}}> ({{", all, mine,
                     groups_text(op.attrs), channel(w)));
  w.line(fmt::format("  ^bb0({}: {}, {}: {}):", a, s, b, s));
  w.line(fmt::format("    {} = stablehlo.add {}, {} : {}", both, a, b, s));
  w.line(fmt::format("    stablehlo.return {} : {}", both, s));
  w.line(fmt::format("}}) : ({}) -> {}", bits, bits));
  w.define(op, fmt::format("stablehlo.{} {} : ({}) -> {}", cast, all, bits, text));
}
std::vector<Literal> eval_broadcast(const EvalArgs& a) {
  return {std::move(gather_group(a).arrays[as_size(a.attrs().integer("source"))])};
}
std::vector<Tensor> vjp_broadcast(const VjpArgs& a) {
  const Dims source{a.attrs.integer("source")};
  return {permuted(reduced(kAllReduceSum, a.cotangent(), a.attrs), a.attrs, source, source)};
}
const OpDef kBroadcast{
    "collective_broadcast", infer_broadcast, print_broadcast, eval_broadcast, vjp_broadcast, {}, no_flops,
    Recompute::expensive};

std::vector<TensorType> infer_index(const InferArgs&) { return {{DType::i32, {}}}; }
// From the number of the device: for each axis (number / stride) % size.
void print_index(HloWriter& w, const OpInfo& op) {
  const Mesh mesh = mesh_from(op.attrs);
  const std::string type = "tensor<ui32>";
  const auto emit = [&](const std::string& text) {
    const std::string name = w.fresh();
    w.line(fmt::format("{} = {} : {}", name, text, type));
    return name;
  };
  const auto literal = [&](int64_t v) { return emit(fmt::format("stablehlo.constant dense<{}>", v)); };
  std::string index = literal(0);
  if (group_size(op.attrs) > 1) {
    const std::string device = emit("stablehlo.partition_id");
    const Axis axes = axes_of(op.attrs);
    for (const std::string& name : axes.names) {
      const auto at = std::find(kMeshAxes.begin(), kMeshAxes.end(), name) - kMeshAxes.begin();
      int64_t stride = 1;
      for (size_t i = as_size(at) + 1; i < kMeshAxes.size(); ++i) stride *= mesh.sizes()[i];
      const std::string size = literal(mesh.size(name));
      const std::string row = emit(fmt::format("stablehlo.divide {}, {}", device, literal(stride)));
      const std::string place = emit(fmt::format("stablehlo.remainder {}, {}", row, size));
      const std::string scaled = emit(fmt::format("stablehlo.multiply {}, {}", index, size));
      index = emit(fmt::format("stablehlo.add {}, {}", scaled, place));
    }
  }
  w.define(op, fmt::format("stablehlo.convert {} : ({}) -> tensor<i32>", index, type));
}
std::vector<Literal> eval_index(const EvalArgs& a) {
  if (!a.exchange) throw Error(ErrorCode::wrong_context, "'axis_index' outside a manual region");
  const std::vector<int64_t> group = group_of(mesh_from(a.attrs()), axes_of(a.attrs()), a.device);
  return {Literal::scalar_int(DType::i32, std::find(group.begin(), group.end(), a.device) - group.begin())};
}
const OpDef kIndex{"axis_index", infer_index, print_index, eval_index, nullptr, {}, no_flops};

// `mesh` and `axes` of a collective called here.
Attrs here(const char* op, const Axis& axes) {
  const ManualAxes* scope = manual_scope();
  const auto error = [&](const std::string& text) {
    return Error(ErrorCode::wrong_context, fmt::format("{}: {}", op, text)).at(std::string(current_trace().path()));
  };
  if (scope == nullptr) throw error("is called outside a manual region").hint("call it in the body of `manual`");
  for (const std::string& name : axes.names) {
    if (std::find(scope->names.begin(), scope->names.end(), name) == scope->names.end()) {
      throw error(fmt::format("the region doesn't run over axis '{}'", name));
    }
    if (std::count(axes.names.begin(), axes.names.end(), name) > 1) throw error(fmt::format("axis '{}' twice", name));
  }
  return {{"mesh", mesh_dims(scope->mesh)}, {"axes", PartitionSpec{axes}}};
}
int64_t positive(const Tensor& x, int64_t dim) { return dim < 0 ? dim + x.rank() : dim; }

}  // namespace

Tensor all_reduce_sum(const Tensor& x, const Axis& axes) {
  return emit1(kAllReduceSum, {x}, here("all_reduce_sum", axes));
}
Tensor all_reduce_max(const Tensor& x, const Axis& axes) {
  return emit1(kAllReduceMax, {x}, here("all_reduce_max", axes));
}
Tensor all_reduce_min(const Tensor& x, const Axis& axes) {
  return emit1(kAllReduceMin, {x}, here("all_reduce_min", axes));
}
Tensor all_gather(const Tensor& x, const Axis& axes, int64_t dim) {
  return along(kAllGather, x, here("all_gather", axes), positive(x, dim));
}
Tensor reduce_scatter(const Tensor& x, const Axis& axes, int64_t dim) {
  return along(kReduceScatter, x, here("reduce_scatter", axes), positive(x, dim));
}
Tensor all_to_all(const Tensor& x, const Axis& axes, int64_t split_dim, int64_t concat_dim) {
  return exchanged(x, here("all_to_all", axes), positive(x, split_dim), positive(x, concat_dim));
}
Tensor collective_permute(const Tensor& x, const Axis& axes, const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  Dims sources, targets;
  for (const auto& [from, to] : pairs) sources.push_back(from), targets.push_back(to);
  return permuted(x, here("collective_permute", axes), sources, targets);
}
Tensor collective_broadcast(const Tensor& x, const Axis& axes, int64_t source) {
  const Attrs a = here("collective_broadcast", axes);
  return emit1(kBroadcast, {x}, {{"mesh", a.dims("mesh")}, {"axes", a.spec("axes")}, {"source", source}});
}
Tensor axis_index(const Axis& axes) {
  Attrs attrs = here("axis_index", axes);
  const ManualAxes& scope = *manual_scope();
  if (scope.mesh.shards(Axis(scope.names)) != scope.mesh.num_devices()) {
    throw Error(ErrorCode::unsupported, "axis_index: the region runs over some axes of the mesh only")
        .at(std::string(current_trace().path()))
        .hint("pass an iota in, split over the axis");
  }
  return emit1(kIndex, {}, std::move(attrs));
}

std::span<const OpDef* const> collective_defs() {
  static const OpDef* const defs[] = {&kAllReduceSum, &kAllReduceMax, &kAllReduceMin, &kAllGather, &kReduceScatter,
                                      &kAllToAll,     &kPermute,      &kBroadcast,    &kIndex};
  return defs;
}

}  // namespace tenon
