#include "tenon/ir/op_def.h"
#include "tenon/ir/ops/table.h"

namespace tenon {

std::span<const OpDef* const> op_table() {
  static const std::vector<const OpDef*> table = [] {
    std::vector<const OpDef*> out;
    for (const auto family : {unary_defs(), binary_defs(), compare_defs(), reduce_precision_defs(), constant_defs(),
                              shape_defs(), dynamic_defs(), gather_defs(), dot_defs(), reduce_defs(),
                              convolution_defs(), reduce_window_defs(), sort_defs(), annotate_defs(), control_defs()}) {
      out.insert(out.end(), family.begin(), family.end());
    }
    return out;
  }();
  return table;
}

double count_flops(const Trace& trace, RegionId region) {
  double total = 0;
  for (OpId id : trace.region(region).ops) {
    const OpInfo& op = trace.op(id);
    if (op.def->flops != nullptr) {
      total += op.def->flops(trace, op);
    } else {
      for (ValueId v : op.results) total += static_cast<double>(num_elements(trace.value(v).type.dims));
    }
  }
  return total;
}

}  // namespace tenon
