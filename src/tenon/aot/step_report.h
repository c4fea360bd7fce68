// What the compiler says of a training step on a machine that isn't here.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tenon/runtime/aot.h"
#include "tenon/trainer/chips.h"
#include "tenon/trainer/trainer.h"

namespace tenon {

struct StepReport {
  Mesh mesh;
  Chip chip;
  AotResult compiled;
  std::vector<KernelChoice> kernels;
  double flops = 0;        // of one step, over all devices, by our own count
  int64_t host_bytes = 0;  // of the state, in host memory for each device

  bool fits() const { return compiled.memory.total() <= chip.memory_bytes; }
  // Throws `out_of_memory` when it doesn't.
  void require_fit() const;
};

// Compiles the very step that training by `config` runs, for a target such as "v5p:2x2x1" or "h100:4"; reads no data.
// Throws what AotTarget::parse and ChipTable::find throw for the target, trace_train_step for the config, and
// AotMachine for what the plugin refuses; a compiler that itself finds too little memory: `out_of_memory`.
StepReport compile_train_step(const Trainer::Config& config, std::string_view target);

// Of the instructions, those that move data between devices: "all-gather", "all-reduce", … and how often. One that is
// started and awaited apart counts once.
std::map<std::string, int64_t> count_collectives(const std::map<std::string, int64_t>& instructions);

// Lines for people, without one at the end.
std::string format_report(const StepReport& report);

}  // namespace tenon
