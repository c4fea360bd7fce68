// The time of a step, from what is counted in its program and the speeds of a machine.
#pragma once

#include <map>
#include <string>

#include "tenon/aot/bound.h"
#include "tenon/aot/step_report.h"
#include "tenon/base/dtype.h"

namespace tenon {

// What one device does in a step.
struct StepCounts {
  std::map<DType, double> products;  // FLOPs of matrix products, by the dtype of what is multiplied
  // Bytes of main memory: of instructions that multiply matrices or call kernels, and of others.
  double product_bytes = 0, other_bytes = 0;
  double link_bytes = 0, network_bytes = 0;  // sent within a host or slice, and beyond
  double collectives = 0, instructions = 0;  // how many run
  bool operator==(const StepCounts&) const = default;
};

// Of a report with a compiled program. Products of the CPU are those of the optimized program, where what every device
// computes again counts for each, and attention as its kernel does it; those of other chips, whose compilers turn
// products into what can't be counted, are an even share of the graph's. Attention counts by the pairs its mask leaves.
StepCounts count_step(const StepReport& report);

// Of one device while all work. 0: not known, and nothing is counted for it.
struct MachineSpeeds {
  std::map<DType, double> peaks;               // products a second
  double memory = 0, links = 0, network = 0;   // bytes a second; links: all of a device's at once
  double collective_s = 0, instruction_s = 0;  // what each costs besides
  std::string source;                          // where the numbers are from
  double peak(DType dtype) const;              // of a dtype without a number, bf16's, else f32's
  bool operator==(const MachineSpeeds&) const = default;
};
// As the table of chips has them, with nothing for the cost of starting things.
MachineSpeeds speeds_of(const Chip& chip, int64_t num_links);

// Seconds of a step by part.
struct StepTime {
  double products = 0, other = 0;  // matrix products or their bytes, whichever takes longer; other instructions' bytes
  double links = 0, network = 0;
  double collectives = 0, instructions = 0;  // their number
  // As if nothing overlapped.
  double sum() const { return products + other + links + network + collectives + instructions; }
  StepBound bound;  // as if all did: but for caches no step is faster
};
StepTime time_step(const StepCounts& counts, const MachineSpeeds& speeds);

}  // namespace tenon
