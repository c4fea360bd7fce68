// Ops that say something about a value without changing it.
#pragma once

#include <string_view>
#include <vector>

#include "tenon/base/partition_spec.h"
#include "tenon/ir/tensor.h"
#include "tenon/ir/trace.h"

namespace tenon {

// Names `x` for remat policies, dumps and profiles.
Tensor tag(const Tensor& x, std::string_view name);
// Asks the partitioner to split `x` as `spec` says; axes of size 1 and specs of no axis are left out on one device.
Tensor shard(const Tensor& x, const PartitionSpec& spec);
// The values, ordered after one another and out of reach of common-subexpression elimination.
std::vector<Tensor> optimization_barrier(const std::vector<Tensor>& xs);
// `x` moved to host memory, and back. Backends with one memory leave it where it is. What is on the host may only be
// stacked by a scan, sliced by one, and moved back.
Tensor to_host(const Tensor& x);
Tensor to_device(const Tensor& x);
bool is_to_host(const OpInfo& op);
// `x` with no gradient.
Tensor stop_gradient(const Tensor& x);

}  // namespace tenon
