// How large the arrays of a program are on one device, before a compiler sees it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/base/mesh.h"
#include "tenon/ir/trace.h"

namespace tenon {

struct LargestArray {
  std::string where;  // module path and op: "decoder/dot_general"; "" in a program without ops
  TensorType type;    // of the whole array
  int64_t bytes = 0;  // on one device
  int64_t num_devices = 1;
};

// Of what the ops of a region and of those within it give. Where a sharding constraint says how an array is split, it
// is split so; others, over all devices of `mesh`, which is the least that a device has of them.
LargestArray largest_array(const Trace& trace, RegionId region, const Mesh& mesh);

// Throws `out_of_memory` with the op for an array that ends the process in compilers for `platform` ("": any). 1 PiB is
// what all take. XLA's for CPUs divides by zero where the loop over a thread's part of an array has a multiple of 2^32
// steps of 64 bytes: how an array is cut into parts depends on the machine, so that the bound is 128 GiB.
void check_largest(const LargestArray& largest, std::string_view platform);

}  // namespace tenon
