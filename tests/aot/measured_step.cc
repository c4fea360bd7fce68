#include "measured_step.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "counted_malloc.h"
#include "tenon/runtime/array.h"
#include "tenon/runtime/program.h"
#include "tenon/trainer/trace_step.h"

namespace tenon {
namespace {

// Once nothing has been allocated or freed for a while: devices give back what a step held after its results are there.
int64_t settled_bytes() {
  constexpr auto kWhile = std::chrono::milliseconds(20);
  int64_t last = allocated_bytes();
  for (int still = 0; still < 3; ++still) {
    std::this_thread::sleep_for(kWhile);
    if (allocated_bytes() != last) still = 0;
    last = allocated_bytes();
  }
  return last;
}

// How machine code is made changes no buffer: this is made fast.
pjrt::Executable compile_fast(const Backend& backend, const TracedStep& traced) {
  const Program& program = traced.step.program;
  std::map<std::string, std::string> flags = backend.default_flags();
  flags["xla_backend_optimization_level"] = "0";
  flags["xla_llvm_disable_expensive_passes"] = "true";
  const pjrt::CompileOptions options = make_compile_options(program, flags, traced.mesh, backend.device_ids());
  return backend.client().compile(program.text, options).value();
}

void run(const std::shared_ptr<const Backend>& backend, const TracedStep& traced, const pjrt::Executable& step) {
  const Program& program = traced.step.program;
  std::vector<Array> args;
  std::vector<std::vector<const pjrt::Buffer*>> inputs(static_cast<size_t>(backend->num_devices()));
  for (size_t i = 0; i < program.arg_types.size(); ++i) {
    args.push_back(Array::from_literal(backend, traced.mesh, program.arg_specs[i], Literal(program.arg_types[i])));
    for (size_t d = 0; d < inputs.size(); ++d) inputs[d].push_back(&args.back().buffers()[d]);
  }
  reset_peak();  // without the literals
  const std::vector<std::vector<pjrt::Buffer>> results = step.execute(inputs).value();
  for (const std::vector<pjrt::Buffer>& device : results) {
    for (const pjrt::Buffer& result : device) result.ready().value().wait().value();
  }
  for (const int donated : program.donated) args[static_cast<size_t>(donated)].mark_donated();
}

}  // namespace

MeasuredStep measure_step(const std::shared_ptr<const Backend>& backend, const Trainer::Config& config) {
  const int64_t num_devices = backend->num_devices();
  const TracedStep traced = trace_train_step(config, num_devices, backend->kernels());
  const pjrt::Executable step = compile_fast(*backend, traced);
  const int64_t start = settled_bytes();
  run(backend, traced, step);
  const int64_t first_peak = peak_allocated_bytes();
  const int64_t before = settled_bytes();
  run(backend, traced, step);
  const auto each = [&](int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(num_devices); };
  return {step.program().memory_stats().value(), step.program().optimized_program().value(),
          each(peak_allocated_bytes() - before), each(std::max(first_peak, peak_allocated_bytes()) - start)};
}

}  // namespace tenon
