// tag, sharding_constraint, optimization_barrier, place, stop_gradient.
#include "tenon/ir/ops/annotate.h"

#include <algorithm>

#include "tenon/ir/ops/manual.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

std::vector<TensorType> infer_same(const InferArgs& a) { return a.operands; }
void print_alias(HloWriter& w, const OpInfo& op) { w.bind(op.results[0], w.name(op.operands[0])); }
std::vector<Literal> eval_same(const EvalArgs& a) {
  std::vector<Literal> out;
  for (const Literal* x : a.operands) out.push_back(*x);
  return out;
}
std::vector<Tensor> vjp_same(const VjpArgs& a) { return a.cotangents; }
std::vector<TensorType> infer_shard(const InferArgs& a) {
  const auto& dims = a.attrs.spec("spec").dims();
  if (static_cast<int64_t>(dims.size()) > a.operands[0].rank()) {
    shape_error("spec {} has more dimensions than {}", to_string(a.attrs.spec("spec")), to_string(a.operands[0]));
  }
  return {a.operands[0]};
}
void print_shard(HloWriter& w, const OpInfo& op) {
  if (w.mesh() == nullptr) return print_alias(w, op);
  w.define(op, fmt::format("sdy.sharding_constraint {} <@mesh, {}> : {}", w.names(op.operands),
                           hlo_spec(op.attrs.spec("spec"), w.type(op.results[0]).rank(), *w.mesh()),
                           w.type_text(op.results[0])));
}
std::vector<Tensor> vjp_shard(const VjpArgs& a) { return {shard(a.cotangent(), a.attrs.spec("spec"))}; }

void print_barrier(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.optimization_barrier {} : {}", w.names(op.operands), w.types(op.operands)));
}

void print_place(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.custom_call @annotate_device_placement({}) {{has_side_effect = true, "
                           "mhlo.frontend_attributes = {{_xla_buffer_placement = \"{}\"}}}} : {}",
                           w.names(op.operands), op.attrs.text("memory"), w.signature(op)));
}

const OpDef kTag{"tag", infer_same, print_alias, eval_same, vjp_same, {}, no_flops};
const OpDef kShard{"sharding_constraint", infer_shard, print_shard, eval_same, vjp_shard, {}, no_flops};
const OpDef kBarrier{"optimization_barrier", infer_same, print_barrier, eval_same, vjp_same, {}, no_flops};
const OpDef kPlace{"place", infer_same, print_place, eval_same, vjp_same, {}, no_flops};
const OpDef kStop{"stop_gradient",
                  infer_same,
                  print_alias,
                  eval_same,
                  [](const VjpArgs&) -> std::vector<Tensor> { return {Tensor()}; },
                  {},
                  no_flops};

}  // namespace

Tensor tag(const Tensor& x, std::string_view name) { return emit1(kTag, {x}, {{"name", std::string(name)}}); }
Tensor shard(const Tensor& x, const PartitionSpec& spec) {
  const ManualAxes* scope = manual_scope();
  const bool over_pieces = scope != nullptr && std::any_of(spec.dims().begin(), spec.dims().end(), [&](const Axis& a) {
                             return std::any_of(a.names.begin(), a.names.end(), [&](const std::string& name) {
                               return std::find(scope->names.begin(), scope->names.end(), name) != scope->names.end();
                             });
                           });
  if (over_pieces) {
    throw Error(ErrorCode::wrong_context,
                "a sharding constraint over axes of the manual region it is in, where arrays are pieces")
        .at(std::string(current_trace().path()));
  }
  return emit1(kShard, {x}, {{"spec", spec}});
}
std::vector<Tensor> optimization_barrier(const std::vector<Tensor>& xs) {
  return xs.empty() ? xs : xs[0].trace()->emit(kBarrier, xs, {});
}
Tensor to_host(const Tensor& x) { return emit1(kPlace, {x}, {{"memory", std::string("pinned_host")}}); }
Tensor to_device(const Tensor& x) { return emit1(kPlace, {x}, {{"memory", std::string("device")}}); }
bool is_to_host(const OpInfo& op) { return op.def == &kPlace && op.attrs.text("memory") == "pinned_host"; }
Tensor stop_gradient(const Tensor& x) { return emit1(kStop, {x}); }

std::span<const OpDef* const> annotate_defs() {
  static const OpDef* const defs[] = {&kTag, &kShard, &kBarrier, &kPlace, &kStop};
  return defs;
}

}  // namespace tenon
