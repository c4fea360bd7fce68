// Ops that say something about a value without changing it.
#pragma once

#include <string_view>
#include <vector>

#include "tenon/base/partition_spec.h"
#include "tenon/ir/tensor.h"

namespace tenon {

// Names `x` for remat policies, dumps and profiles.
Tensor tag(const Tensor& x, std::string_view name);
// Asks the partitioner to split `x` as `spec` says; axes of size 1 and specs of no axis are left out on one device.
Tensor shard(const Tensor& x, const PartitionSpec& spec);
// The values, ordered after one another and out of reach of common-subexpression elimination.
std::vector<Tensor> optimization_barrier(const std::vector<Tensor>& xs);
// `x` with no gradient.
Tensor stop_gradient(const Tensor& x);

}  // namespace tenon
