#include "tenon/ir/op_def.h"
#include "tenon/ir/ops/families.h"
#include "tenon/ir/ops/table.h"

namespace tenon {

std::span<const OpFamily> op_families() {
  static const OpFamily families[] = {
      {"Elementwise, one operand", "elementwise.h", "unary.cc", unary_defs()},
      {"Rounding to fewer bits", "elementwise.h", "reduce_precision.cc", reduce_precision_defs()},
      {"Elementwise, two operands", "elementwise.h", "binary.cc", binary_defs()},
      {"Comparison, choice, conversion", "elementwise.h", "compare.cc", compare_defs()},
      {"Constants", "shape.h", "constant.cc", constant_defs()},
      {"Moving and repeating elements", "shape.h", "shape.cc", shape_defs()},
      {"Slices at places given by values", "indexing.h", "dynamic.cc", dynamic_defs()},
      {"Gather and scatter", "indexing.h", "gather.cc", gather_defs()},
      {"Contraction", "contract.h", "dot.cc", dot_defs()},
      {"Reduction", "contract.h", "reduce.cc", reduce_defs()},
      {"Convolution", "window.h", "convolution.cc", convolution_defs()},
      {"Sliding windows", "window.h", "reduce_window.cc", reduce_window_defs()},
      {"Order", "shape.h", "sort.cc", sort_defs()},
      {"Annotations", "annotate.h", "annotate.cc", annotate_defs()},
      {"Control flow", "control.h", "control.cc", control_defs()},
      {"Functions with a gradient of their own", "custom_vjp.h", "custom_vjp.cc", custom_vjp_defs()},
      {"Kernels", "attention.h", "attention.cc", attention_defs()},
      {"Manual regions", "manual.h", "manual.cc", manual_defs()},
      {"Collectives, inside manual regions", "manual.h", "collective.cc", collective_defs()},
  };
  return families;
}

std::span<const OpDef* const> op_table() {
  static const std::vector<const OpDef*> table = [] {
    std::vector<const OpDef*> out;
    for (const OpFamily& family : op_families()) out.insert(out.end(), family.defs.begin(), family.defs.end());
    return out;
  }();
  return table;
}

double op_flops(const Trace& trace, const OpInfo& op) {
  if (op.def->flops != nullptr) return op.def->flops(trace, op);
  double elements = 0;
  for (ValueId v : op.results) elements += static_cast<double>(num_elements(trace.value(v).type.dims));
  return elements;
}

double count_flops(const Trace& trace, RegionId region) {
  double total = 0;
  for (OpId id : trace.region(region).ops) total += op_flops(trace, trace.op(id));
  return total;
}

}  // namespace tenon
