// The train step of a whole config, for who compiles it without running it.
#pragma once

#include "tenon/trainer/train_step.h"
#include "tenon/trainer/trainer.h"

namespace tenon {

// The train step of a run on so many devices, which have `kernels`; the config may disable some. Throws
// `mesh_mismatch`.
StepSettings step_settings(const Trainer::Config& config, int64_t num_devices, const KernelList& kernels);

// What Trainer::run compiles on so many devices, which have `kernels`, traced without reading any data. `observe` sees
// its graph.
struct TracedStep {
  Mesh mesh;
  TrainProgram step;
};
// Checks the whole config. Throws as Trainer, step_settings and make_train_program do.
TracedStep trace_train_step(const Trainer::Config& config, int64_t num_devices, const KernelList& kernels = {},
                            PassObserver observe = {});

// Of one forward pass over a training batch, over all devices, without what experts are filled up with. What a step
// needs, with no layer computed again, is three times that. Throws as trace_train_step does.
FlopCount count_forward_flops(const Trainer::Config& config, int64_t num_devices);

}  // namespace tenon
