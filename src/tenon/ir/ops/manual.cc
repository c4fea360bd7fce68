// manual: a region that every device runs on its own pieces. Collectives are in collective.cc.
#include "tenon/ir/ops/manual.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tenon/ir/ops/device_groups.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

using Specs = std::vector<PartitionSpec>;

thread_local const ManualAxes* current_scope = nullptr;

void check_spec(const PartitionSpec& spec, const TensorType& type, const ManualAxes& axes, const char* what, size_t i) {
  const PartitionSpec split = axes.mesh.normalize(spec, type.rank());
  for (const Axis& axis : split.dims()) {
    for (const std::string& name : axis.names) {
      if (std::find(axes.names.begin(), axes.names.end(), name) != axes.names.end()) continue;
      throw Error(ErrorCode::mesh_mismatch, fmt::format("the spec of {} {} names '{}', over which the region doesn't "
                                                        "run",
                                                        what, i, name));
    }
  }
}

TensorType local_type(const TensorType& type, const PartitionSpec& spec, const ManualAxes& axes, size_t i) {
  check_spec(spec, type, axes, "input", i);
  return {type.dtype, axes.mesh.shard_dims(type.dims, spec)};
}

TensorType global_type(TensorType type, const PartitionSpec& spec, const ManualAxes& axes, size_t i) {
  check_spec(spec, type, axes, "result", i);
  for (size_t d = 0; d < spec.dims().size(); ++d) type.dims[d] *= axes.mesh.shards(spec.dims()[d]);
  return type;
}

ManualAxes axes_of(const Attrs& attrs) { return {mesh_from(attrs), attrs.spec("axes").dims()[0].names}; }

std::vector<TensorType> infer_manual(const InferArgs& a) {
  const RegionInfo& body = a.trace.region(a.regions[0]);
  const ManualAxes axes = axes_of(a.attrs);
  const Specs &in = a.attrs.specs("in"), &out = a.attrs.specs("out");
  if (in.size() != a.operands.size() || body.params.size() != in.size() || body.results.size() != out.size()) {
    shape_error("needs a spec for each of {} inputs and {} results, got {} and {}", body.params.size(),
                body.results.size(), in.size(), out.size());
  }
  for (size_t i = 0; i < in.size(); ++i) {
    const TensorType piece = local_type(a.operands[i], in[i], axes, i), &has = a.trace.value(body.params[i]).type;
    if (has != piece) shape_error("the body takes {} for a piece of {}", to_string(has), to_string(piece));
  }
  const std::vector<ValueId> outside = captures(a.trace, a.regions[0]);
  if (!outside.empty()) {
    throw Error(ErrorCode::wrong_context,
                fmt::format("the body uses a {} from outside", to_string(a.trace.value(outside[0]).type)))
        .hint("pass it as an input, with its spec");
  }
  std::vector<TensorType> results = a.trace.types(body.results);
  for (size_t i = 0; i < out.size(); ++i) results[i] = global_type(std::move(results[i]), out[i], axes, i);
  return results;
}

std::string quoted(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) out.push_back(fmt::format("\"{}\"", name));
  return fmt::format("{}", fmt::join(out, ", "));
}

// Dimensions stay open to the axes that aren't manual.
std::string specs_text(const Specs& specs, const std::vector<TensorType>& arrays, const ManualAxes& axes, bool open) {
  std::vector<std::string> out;
  for (size_t i = 0; i < specs.size(); ++i) {
    std::vector<std::string> dims;
    const PartitionSpec split = axes.mesh.normalize(specs[i], arrays[i].rank());
    for (const Axis& axis : split.dims()) {
      const std::string names = quoted(axis.names);
      dims.push_back(fmt::format("{{{}{}{}}}", names, open && !names.empty() ? ", " : "", open ? "?" : ""));
    }
    out.push_back(fmt::format("<@mesh, [{}]>", fmt::join(dims, ", ")));
  }
  return fmt::format("[{}]", fmt::join(out, ", "));
}

void print_manual(HloWriter& w, const OpInfo& op) {
  const ManualAxes axes = axes_of(op.attrs);
  const Mesh mesh = w.mesh() == nullptr ? Mesh() : *w.mesh();
  if (mesh.sizes() != axes.mesh.sizes()) {
    throw Error(ErrorCode::mesh_mismatch, "a manual region was traced for another mesh")
        .at(std::string(w.trace().path_of(op)))
        .got(to_string(axes.mesh))
        .expected(to_string(mesh));
  }
  const int64_t devices = mesh.shards(Axis(axes.names));
  if (devices == 1) return w.body_in_place(op, op.regions[0]);
  const RegionInfo& body = w.trace().region(op.regions[0]);
  std::vector<std::string> names;
  for (const std::string_view name : kMeshAxes) {  // in the order of the mesh
    const bool manual = std::find(axes.names.begin(), axes.names.end(), name) != axes.names.end();
    if (manual && mesh.size(name) > 1) names.emplace_back(name);
  }
  for (ValueId v : body.params) w.bind(v, w.fresh());
  const bool open = devices < mesh.num_devices();
  const std::string base = w.fresh(), operands = w.names(op.operands), operand_types = w.types(op.operands);
  const std::string lhs = op.results.empty()       ? ""
                          : op.results.size() == 1 ? base + " = "
                                                   : fmt::format("{}:{} = ", base, op.results.size());
  w.line(fmt::format("{}sdy.manual_computation({}) in_shardings={} out_shardings={} manual_axes={{{}}} ({}) {{", lhs,
                     operands, specs_text(op.attrs.specs("in"), w.trace().types(op.operands), axes, open),
                     specs_text(op.attrs.specs("out"), w.trace().types(op.results), axes, open), quoted(names),
                     w.typed_names(body.params)));
  w.indent(1);
  w.body(op.regions[0]);
  w.line(body.results.empty() ? "sdy.return"
                              : fmt::format("sdy.return {} : {}", w.names(body.results), w.types(body.results)));
  w.indent(-1);
  w.line(fmt::format("}} : ({}) -> ({}){}", operand_types, w.types(op.results), w.location(op)));
  for (size_t i = 0; i < op.results.size(); ++i) {
    w.bind(op.results[i], op.results.size() == 1 ? base : fmt::format("{}#{}", base, i));
  }
}

// Devices that stand for the region's: one for each position along the manual axes.
std::vector<int64_t> devices_along(const ManualAxes& axes) {
  std::vector<int64_t> out;
  for (int64_t device = 0; device < axes.mesh.num_devices(); ++device) {
    const Mesh::Sizes at = axes.mesh.coordinates(device);
    bool first = true;
    for (size_t i = 0; i < kMeshAxes.size(); ++i) {
      const bool along = std::find(axes.names.begin(), axes.names.end(), kMeshAxes[i]) != axes.names.end();
      first = first && (along || at[i] == 0);
    }
    if (first) out.push_back(device);
  }
  return out;
}

// Calls f(flat index in the whole, flat index in the piece) for every element of a device's piece.
template <class F>
void for_each_of_piece(const Dims& whole, const ArraySlice& piece, F f) {
  const Dims strides = row_major_strides(whole);
  const int64_t origin = flat_index(piece.offset, strides);
  int64_t i = 0;
  for_each_index(piece.size, [&](const Dims& index) { f(origin + flat_index(index, strides), i++); });
}

std::vector<Literal> eval_manual(const EvalArgs& a) {
  const ManualAxes axes = axes_of(a.attrs());
  const Specs &in = a.attrs().specs("in"), &out = a.attrs().specs("out");
  const std::vector<int64_t> devices = devices_along(axes);
  std::vector<std::vector<Literal>> pieces;
  for (int64_t device : devices) {
    std::vector<Literal>& args = pieces.emplace_back();
    for (size_t i = 0; i < in.size(); ++i) {
      const Literal& whole = a.operand(i);
      const ArraySlice slice = axes.mesh.slice(whole.dims(), in[i], device);
      Literal& piece = args.emplace_back(TensorType{whole.dtype(), slice.size});
      for_each_of_piece(whole.dims(), slice, [&](int64_t from, int64_t to) { copy_element(piece, to, whole, from); });
    }
  }
  const std::vector<std::vector<Literal>> results = a.run_devices(a.op.regions[0], devices, std::move(pieces));
  std::vector<Literal> wholes;
  for (size_t i = 0; i < out.size(); ++i) {
    Literal& whole = wholes.emplace_back(a.results[i]);
    for (size_t d = 0; d < devices.size(); ++d) {
      const ArraySlice slice = axes.mesh.slice(whole.dims(), out[i], devices[d]);
      for_each_of_piece(whole.dims(), slice,
                        [&](int64_t to, int64_t from) { copy_element(whole, to, results[d][i], from); });
    }
  }
  return wholes;
}

double flops_manual(const Trace& trace, const OpInfo& op) {
  const ManualAxes axes = axes_of(op.attrs);
  return static_cast<double>(axes.mesh.shards(Axis(axes.names))) * count_flops(trace, op.regions[0]);
}

const OpDef kManual{"manual", infer_manual, print_manual, eval_manual,
                    nullptr,  "structural", flops_manual, Recompute::expensive};

}  // namespace

std::vector<Tensor> manual_op(RegionId body, const ManualAxes& axes, const std::vector<Tensor>& inputs, Specs in_specs,
                              Specs out_specs) {
  return current_trace().emit(kManual, inputs,
                              {{"mesh", mesh_dims(axes.mesh)},
                               {"axes", PartitionSpec{Axis(axes.names)}},
                               {"in", std::move(in_specs)},
                               {"out", std::move(out_specs)}},
                              {body});
}

std::vector<Tensor> manual(const Mesh& mesh, const std::vector<Tensor>& inputs, const Specs& in_specs,
                           const Specs& out_specs, const TensorFn& body, const std::vector<std::string>& names) {
  ManualAxes axes{mesh, names};
  if (names.empty()) axes.names.assign(kMeshAxes.begin(), kMeshAxes.end());
  for (const std::string& name : axes.names) mesh.size(name);  // throws on an unknown one
  if (in_specs.size() != inputs.size()) {
    shape_error("manual: {} specs for {} inputs", in_specs.size(), inputs.size());
  }
  std::vector<TensorType> pieces;
  for (size_t i = 0; i < inputs.size(); ++i) {
    try {
      pieces.push_back(local_type(inputs[i].type(), in_specs[i], axes, i));
    } catch (Error& e) {
      throw e.prefix(fmt::format("manual, input {}", i)).prefix(current_trace().path());
    }
  }
  const RegionId region = [&] {
    const ManualScope scope(axes);
    return trace_region(current_trace(), pieces, body);
  }();
  return manual_op(region, axes, inputs, in_specs, out_specs);
}

bool is_manual(const OpInfo& op) { return op.def == &kManual; }
ManualAxes manual_axes(const OpInfo& op) { return axes_of(op.attrs); }
const Specs& manual_in_specs(const OpInfo& op) { return op.attrs.specs("in"); }
const Specs& manual_out_specs(const OpInfo& op) { return op.attrs.specs("out"); }

const ManualAxes* manual_scope() { return current_scope; }
ManualScope::ManualScope(const ManualAxes& axes) {
  if (current_scope != nullptr) {
    throw Error(ErrorCode::wrong_context, "a manual region inside another").at(std::string(current_trace().path()));
  }
  current_scope = &axes;
}
ManualScope::~ManualScope() { current_scope = nullptr; }

std::span<const OpDef* const> manual_defs() {
  static const OpDef* const defs[] = {&kManual};
  return defs;
}

}  // namespace tenon
