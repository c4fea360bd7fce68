// How fast a config's train step runs on the devices that are here, and the memory it takes: a few steps, of which
// nothing is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/pjrt/executable.h"
#include "tenon/runtime/backend.h"
#include "tenon/runtime/compile_cache.h"
#include "tenon/trainer/trainer.h"

namespace tenon {

struct MeasureOptions {
  int64_t steps = 10;   // that are timed
  int64_t warm_up = 3;  // steps before them
  // May be null: everything is compiled anew.
  const CompileCache* cache = nullptr;
};

struct StepMeasurement {
  std::string platform, device_kind, plugin_version, mesh;
  std::string chip;  // as targets of `tenon aot` name it; "" for one that the table of chips doesn't have
  int64_t num_devices = 0;
  pjrt::MemoryStats compiled;  // what the compiler counts on one device
  double compile_s = 0;
  std::vector<std::string> kernels;  // what became of each
  std::vector<double> losses;        // of every step, those that warm up first
  std::vector<double> step_s;        // from one timed step's results to the next one's
  std::string unit;                  // of the rate: "tokens"
  double weight = 0;                 // of these in the timed steps
  std::optional<double> mfu;         // by the dense bf16 peak; none for a chip that isn't known
  // Client::peak_memory behind the steps: what initializing took counts too.
  std::optional<int64_t> device_peak;

  double seconds() const;  // of a timed step, the mean
  double rate() const;     // a second
  // Of memory that a device's allocator counts: arguments, results not in their place, temporaries.
  int64_t expected_peak() const { return compiled.total() - compiled.generated_code; }
};

// Trains from the config's seed on its data's first batches, which are made before, all devices as one mesh as in
// Trainer::run; a step starts while the one before runs. Throws `invalid_argument` when there are no steps to time or
// the data ends before; `non_finite` at the first loss that isn't finite; and what compiling throws.
StepMeasurement measure_steps(const Trainer::Config& config, std::shared_ptr<const Backend> backend,
                              const MeasureOptions& options = {});

// Lines for people; and one JSON object, of which docs/device_check.md has the keys.
std::string format_measurement(const StepMeasurement& measured);
std::string measurement_json(const StepMeasurement& measured);

}  // namespace tenon
