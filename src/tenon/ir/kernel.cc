#include "tenon/ir/kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tenon/base/text.h"
#include "tenon/ir/hlo_writer.h"
#include "tenon/ir/ops/support.h"

namespace tenon {
namespace {

constexpr std::string_view kTarget = "target", kCallAttributes = "call_attributes";

// "BNTH,BKSH->BNT" as {"BNTH", "BKSH", "BNT"}.
std::vector<std::string> letters_of_arrays(std::string_view dims) {
  const size_t arrow = dims.find("->");
  std::vector<std::string> out = split(dims.substr(0, arrow), ',');
  for (std::string& result : split(dims.substr(arrow + 2), ',')) out.push_back(std::move(result));
  return out;
}

std::string call_text(const OpInfo& op, const std::string& operands, const std::string& signature) {
  return fmt::format("stablehlo.custom_call @{}({}) {{{}}} : {}", op.attrs.text(kTarget), operands,
                     op.attrs.text(kCallAttributes), signature);
}

// A kernel's call where each device computes its part: the arrays as one device sees them, and how they are split.
class ManualCall {
 public:
  ManualCall(HloWriter& w, const OpInfo& op) : w_(w), op_(op), specs_(kernel_specs(op)) {}

  void print() {
    const std::string base = w_.fresh();
    const size_t count = op_.results.size();
    w_.line(
        fmt::format("{}{} = sdy.manual_computation({}) in_shardings=[{}] out_shardings=[{}] manual_axes={{{}}} ({}) {{",
                    base, count == 1 ? "" : fmt::format(":{}", count), w_.names(op_.operands),
                    shardings(op_.operands, 0), shardings(op_.results, op_.operands.size()), axes(), parameters()));
    w_.indent(1);
    const std::string call = w_.fresh(), result_types = locals(op_.results, op_.operands.size());
    const std::string signature = fmt::format("({}) -> {}{}{}", locals(op_.operands, 0), count == 1 ? "" : "(",
                                              result_types, count == 1 ? "" : ")");
    w_.line(fmt::format("{}{} = {}{}", call, count == 1 ? "" : fmt::format(":{}", count),
                        call_text(op_, fmt::format("{}", fmt::join(inside_, ", ")), signature), w_.location(op_)));
    std::vector<std::string> returned;
    for (size_t i = 0; i < count; ++i) returned.push_back(count == 1 ? call : fmt::format("{}#{}", call, i));
    w_.line(fmt::format("sdy.return {} : {}", fmt::join(returned, ", "), result_types));
    w_.indent(-1);
    w_.line(fmt::format("}} : {}", w_.signature(op_)));
    for (size_t i = 0; i < count; ++i) w_.bind(op_.results[i], count == 1 ? base : fmt::format("{}#{}", base, i));
  }

 private:
  std::string local(ValueId v, const PartitionSpec& spec) const {
    const TensorType& type = w_.type(v);
    return hlo_type({type.dtype, w_.mesh()->shard_dims(type.dims, spec)});
  }
  std::string locals(const std::vector<ValueId>& values, size_t first_spec) const {
    std::vector<std::string> out;
    for (size_t i = 0; i < values.size(); ++i) out.push_back(local(values[i], specs_[first_spec + i]));
    return fmt::format("{}", fmt::join(out, ", "));
  }
  std::string shardings(const std::vector<ValueId>& values, size_t first_spec) const {
    std::vector<std::string> out;
    for (size_t i = 0; i < values.size(); ++i) {
      out.push_back(
          fmt::format("<@mesh, {}>", hlo_spec(specs_[first_spec + i], w_.type(values[i]).rank(), *w_.mesh())));
    }
    return fmt::format("{}", fmt::join(out, ", "));
  }
  std::string axes() const {
    std::vector<std::string> out;
    for (std::string_view axis : kMeshAxes) {
      if (w_.mesh()->size(axis) > 1) out.push_back(fmt::format("\"{}\"", axis));
    }
    return fmt::format("{}", fmt::join(out, ", "));
  }
  std::string parameters() {
    std::vector<std::string> out;
    for (size_t i = 0; i < op_.operands.size(); ++i) {
      inside_.push_back(w_.fresh());
      out.push_back(fmt::format("{}: {}", inside_.back(), local(op_.operands[i], specs_[i])));
    }
    return fmt::format("{}", fmt::join(out, ", "));
  }

  HloWriter& w_;
  const OpInfo& op_;
  std::vector<PartitionSpec> specs_;
  std::vector<std::string> inside_;
};

}  // namespace

std::vector<Tensor> emit_kernel(const OpDef& def, const std::vector<Tensor>& operands, Attrs attrs,
                                const PartitionSpec& partition, const TensorFn& body,
                                const std::vector<RegionId>& more) {
  tenon::check(def.kernel != nullptr, "emit_kernel of an op that is no kernel");
  Trace& trace = current_trace();
  std::vector<TensorType> types;
  for (size_t i = 0; i < operands.size(); ++i) {
    trace.check_usable(operands[i], fmt::format("operand {} of '{}'", i, def.name));
    types.push_back(operands[i].type());
  }
  std::vector<RegionId> regions{trace_region(trace, types, body)};
  for (ValueId v : captures(trace, regions[0])) {
    tenon::check(!is_float(trace.value(v).type.dtype), "the body of a kernel captures a float");
  }
  regions.insert(regions.end(), more.begin(), more.end());
  auto items = attrs.items();
  items.emplace_back("partition", partition);
  return trace.emit(def, operands, Attrs(std::move(items)), std::move(regions));
}

std::vector<PartitionSpec> kernel_specs(const OpInfo& op) {
  const KernelDef& kernel = *op.def->kernel;
  const std::vector<std::string> groups = split(kernel.shardable, ',');
  const std::vector<Axis>& partition = op.attrs.spec("partition").dims();
  std::vector<PartitionSpec> out;
  for (const std::string& letters : letters_of_arrays(kernel.dims)) {
    std::vector<Axis> dims(letters.size());
    for (size_t g = 0; g < std::min(groups.size(), partition.size()); ++g) {
      const size_t at = letters.find_first_of(groups[g]);
      if (at != std::string::npos) dims[at] = partition[g];
    }
    out.emplace_back(std::move(dims));
  }
  return out;
}

std::vector<TensorType> infer_kernel(const InferArgs& a) {
  const RegionInfo& body = a.trace.region(a.regions[0]);
  if (a.trace.types(body.params) != a.operands) shape_error("the body takes other types than the operands have");
  return a.trace.types(body.results);
}

void print_kernel(HloWriter& w, const OpInfo& op) {
  if (call_target(op).empty()) return w.body_in_place(op, op.regions[0]);
  if (w.mesh() != nullptr) return ManualCall(w, op).print();
  w.define(op, call_text(op, w.names(op.operands), w.signature(op)));
}

std::vector<Literal> eval_kernel(const EvalArgs& a) {
  std::vector<Literal> operands;
  for (const Literal* x : a.operands) operands.push_back(*x);
  return a.run(a.op.regions[0], std::move(operands));
}

Attrs with_call(const Attrs& attrs, const CustomCall& call) {
  auto items = attrs.items();
  std::erase_if(items, [](const auto& item) { return item.first == kTarget || item.first == kCallAttributes; });
  items.emplace_back(kTarget, call.target);
  items.emplace_back(kCallAttributes, call.attributes);
  return Attrs(std::move(items));
}

std::string_view call_target(const OpInfo& op) {
  for (const auto& [name, value] : op.attrs.items()) {
    if (name == kTarget) return std::get<std::string>(value);
  }
  return {};
}

}  // namespace tenon
