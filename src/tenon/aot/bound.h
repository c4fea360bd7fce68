// The least time that a step can take on a machine, from three of its speeds.
#pragma once

#include <string_view>

#include "tenon/ir/flops.h"
#include "tenon/runtime/chips.h"

namespace tenon {

// a / b; 0 where b is 0: a speed that isn't known, no time.
inline double ratio_or_zero(double a, double b) { return b > 0 ? a / b : 0; }

// What one device does in a step.
struct StepWork {
  FlopCount flops;
  double memory_bytes = 0;                   // to and from main memory
  double link_bytes = 0, network_bytes = 0;  // sent to devices of its host or slice, and beyond
};

struct StepBound {
  // Of each speed alone. 0: nothing of it, or the speed isn't known.
  double compute_s = 0, memory_s = 0, link_s = 0, network_s = 0;
  // The largest: none can be done faster, and at best all overlap.
  double seconds() const;
  // "compute", "memory", "links", "network"; "" when nothing is known.
  std::string_view by() const;
};

// compute: the products of each dtype at its peak, attention by the pairs that its mask leaves. memory: bytes at the
// memory's speed. links: bytes over all `num_links` links at once. network: bytes at the device's share.
StepBound bound_step(const StepWork& work, const Chip& chip, int64_t num_links);

// model_flops / (seconds x devices x peak in bf16); 0 where the peak isn't known. `model_flops` counts the products
// that the model needs, not what is computed again.
double mfu(double model_flops, double seconds, int64_t num_devices, const Chip& chip);

}  // namespace tenon
