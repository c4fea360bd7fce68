// Kernels: ops that a platform may have something faster for than what the compiler makes of ordinary ops.
//
// A kernel is a row of the op table. Region 0 of each such op is its body: the same in ordinary ops. The interpreter
// runs the body, and it is what gets printed unless a pass (passes/select_kernels.h) put something of the platform's in
// the op's place.
#pragma once

#include <string_view>
#include <vector>

#include "tenon/ir/op_def.h"

namespace tenon {

// What a row of the op table says of a kernel besides the columns of every op.
struct KernelDef {
  // A letter for each dimension of the operands, then of the results: "BNTH,BKSH->BNTH". Letters of one array differ.
  std::string_view dims;
  // Groups of letters that can be split over devices, each device then computing its part alone; the letters of a group
  // are split alike: "B,NK".
  std::string_view shardable;
};

// Emits a kernel; `body` traces region 0 on the operands, and `more` are the regions after it. `partition` has one
// entry per group of `shardable`: the mesh axes it is split over. The body captures no floats: they would get no
// gradient.
std::vector<Tensor> emit_kernel(const OpDef& def, const std::vector<Tensor>& operands, Attrs attrs,
                                const PartitionSpec& partition, const TensorFn& body,
                                const std::vector<RegionId>& more = {});

// How the operands, then the results, of a kernel op are split over devices: its `partition` on its dimensions.
std::vector<PartitionSpec> kernel_specs(const OpInfo& op);

// Columns that are the same for every kernel.
std::vector<TensorType> infer_kernel(const InferArgs& args);
void print_kernel(HloWriter& w, const OpInfo& op);
std::vector<Literal> eval_kernel(const EvalArgs& args);

}  // namespace tenon
