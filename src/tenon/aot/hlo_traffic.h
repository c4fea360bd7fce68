// Bytes that the optimized program reads from and writes to a device's main memory.
#pragma once

#include <set>

#include "tenon/pjrt/hlo_module.h"

namespace tenon {

// Of one instruction of `c`, run once; 0 of one that moves nothing, or whose callees do.
double traffic_of(const pjrt::HloModule& module, const pjrt::HloComputation& c, const pjrt::HloInstruction& i);

// Computations that are part of an instruction, as a fusion's is, and don't run by themselves.
std::set<size_t> inner_computations(const pjrt::HloModule& module);

// In one step, on one device, loops' trips included: each instruction (a fusion is one) reads its operands and writes
// its results once. Of an array that it takes slices from, or updates in place, the slices alone. What caches save
// isn't known, so a step may need a little less; what lies in other memories (the host's, a TPU's VMEM) doesn't count.
double count_memory_traffic(const pjrt::HloModule& module);

}  // namespace tenon
