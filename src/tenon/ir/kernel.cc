#include "tenon/ir/kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tenon/base/text.h"
#include "tenon/ir/hlo_writer.h"
#include "tenon/ir/ops/support.h"

namespace tenon {
namespace {

// "BNTH,BKSH->BNT" as {"BNTH", "BKSH", "BNT"}.
std::vector<std::string> letters_of_arrays(std::string_view dims) {
  const size_t arrow = dims.find("->");
  std::vector<std::string> out = split(dims.substr(0, arrow), ',');
  for (std::string& result : split(dims.substr(arrow + 2), ',')) out.push_back(std::move(result));
  return out;
}

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

void print_kernel(HloWriter& w, const OpInfo& op) { w.body_in_place(op, op.regions[0]); }

std::vector<Literal> eval_kernel(const EvalArgs& a) {
  std::vector<Literal> operands;
  for (const Literal* x : a.operands) operands.push_back(*x);
  return a.run(a.op.regions[0], std::move(operands));
}

}  // namespace tenon
