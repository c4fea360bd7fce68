// Code that each device runs on its own pieces, and the collectives it may call.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/ir/trace.h"

namespace tenon {

// The mesh of a manual region and the axes it runs over; other axes stay with the partitioner.
struct ManualAxes {
  Mesh mesh;
  std::vector<std::string> names;
};

// Runs `body` on every device along `axes` (empty: all of `mesh`): it takes that device's piece of each input by
// in_specs, and its results are put together by out_specs. Where an out spec leaves axes out, the devices along them
// must return equal values. Specs name only these axes. The body may use nothing from outside: pass it as an input. It
// may call the collectives below. Throws `mesh_mismatch` where specs don't divide, `wrong_context` inside another
// manual region. With one device along the axes the body is compiled in place.
std::vector<Tensor> manual(const Mesh& mesh, const std::vector<Tensor>& inputs,
                           const std::vector<PartitionSpec>& in_specs, const std::vector<PartitionSpec>& out_specs,
                           const TensorFn& body, const std::vector<std::string>& axes = {});

// Collectives, inside `manual` only (else `wrong_context`). A group is the devices that differ only along `axes`,
// numbered row-major, the last of `axes` fastest.

// Sum (largest, smallest) over the group. Gradients of max and min are shared equally among ties.
Tensor all_reduce_sum(const Tensor& x, const Axis& axes);
Tensor all_reduce_max(const Tensor& x, const Axis& axes);
Tensor all_reduce_min(const Tensor& x, const Axis& axes);
// The pieces of the group one after another along `dim`.
Tensor all_gather(const Tensor& x, const Axis& axes, int64_t dim);
// Piece number i, along `dim`, of the group's sum goes to its device i.
Tensor reduce_scatter(const Tensor& x, const Axis& axes, int64_t dim);
// Piece number i along `split_dim` goes to device i, which puts what it gets one after another along `concat_dim`.
Tensor all_to_all(const Tensor& x, const Axis& axes, int64_t split_dim, int64_t concat_dim);
// Device `second` of the group gets the array of `first`; a device that is no target gets zeros. No source and no
// target twice.
Tensor collective_permute(const Tensor& x, const Axis& axes, const std::vector<std::pair<int64_t, int64_t>>& pairs);
// The array of device `source` of the group, on each of them. Its gradient there is the sum of theirs. To the bit, in
// every dtype; sent as a sum of the array and zeros, which every platform has.
Tensor collective_broadcast(const Tensor& x, const Axis& axes, int64_t source);
// The number (i32) of this device in its group. Needs a manual region over all axes of the mesh.
Tensor axis_index(const Axis& axes);

// ── for transforms ──
bool is_manual(const OpInfo& op);
ManualAxes manual_axes(const OpInfo& op);
const std::vector<PartitionSpec>& manual_in_specs(const OpInfo& op);
const std::vector<PartitionSpec>& manual_out_specs(const OpInfo& op);
std::vector<Tensor> manual_op(RegionId body, const ManualAxes& axes, const std::vector<Tensor>& inputs,
                              std::vector<PartitionSpec> in_specs, std::vector<PartitionSpec> out_specs);

// The manual region being traced on this thread; null outside.
const ManualAxes* manual_scope();
// Makes one while it lives. Throws `wrong_context` inside another.
class [[nodiscard]] ManualScope {
 public:
  explicit ManualScope(const ManualAxes& axes);
  ~ManualScope();
  ManualScope(const ManualScope&) = delete;
};

}  // namespace tenon
