// A train step on devices of the CPU, whose buffers are allocations of this process: predicted and counted.
#pragma once

#include <cstdint>
#include <memory>

#include "tenon/pjrt/executable.h"
#include "tenon/pjrt/hlo_module.h"
#include "tenon/runtime/backend.h"
#include "tenon/trainer/trainer.h"

namespace tenon {

// Bytes on one device; what is counted is shared by the devices evenly.
struct MeasuredStep {
  pjrt::MemoryStats predicted;  // by the compiler
  pjrt::HloModule optimized;
  double actual = 0;      // the most that a step held, when one had run before
  double from_start = 0;  // the most that the process grew by, over the first two steps
};
// On all devices of `backend`. What the first step leaves behind (threads, the plugin's own lists,
// what kernels keep) counts from_start alone.
MeasuredStep measure_step(const std::shared_ptr<const Backend>& backend, const Trainer::Config& config);

}  // namespace tenon
