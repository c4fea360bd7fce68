// What the compiler predicts of memory, and what a step takes.
#include <gtest/gtest.h>

#include <iostream>

#include "counted_malloc.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/experiment.h"
#include "tenon/experiments/resolve.h"
#include "tenon/runtime/executable.h"
#include "tenon/trainer/trace_step.h"

namespace tenon {
namespace {

class SlowPeakMemory : public ::testing::TestWithParam<const char*> {};

// On one device of the CPU, whose buffers are allocations of this process. What doesn't grow with the model (threads,
// the plugin's own lists) is there before: the step runs once to begin with.
TEST_P(SlowPeakMemory, IsWhatWasPredicted) {
  register_everything(Registry::global());
  ExperimentRegistry experiments;
  register_experiments(experiments);
  const Trainer::Config config = resolve(experiments.find(GetParam()), {}).config;
  const auto backend = Backend::open("cpu");
  const TracedStep traced = trace_train_step(config, 1, backend->kernels());
  const Executable step = compile(backend, traced.mesh, traced.step.program);
  const Program& program = step.program();
  const auto run = [&] {
    std::vector<Array> args;
    for (size_t i = 0; i < program.arg_types.size(); ++i) {
      args.push_back(Array::from_literal(backend, traced.mesh, program.arg_specs[i], Literal(program.arg_types[i])));
    }
    reset_peak();                          // without the literals
    (void)step(args).back().to_literal();  // the metrics, which are few: waits
  };
  run();
  const int64_t before = allocated_bytes();
  run();
  const auto actual = static_cast<double>(peak_allocated_bytes() - before);
  const pjrt::MemoryStats& m = step.memory();
  const auto predicted = static_cast<double>(m.argument + m.output - m.alias + m.temporary);
  std::cout << GetParam() << ": predicted " << predicted << ", actual " << actual << " ("
            << 100 * (actual / predicted - 1) << " %)\n";
  EXPECT_NEAR(actual, predicted, 0.02 * predicted);
}

INSTANTIATE_TEST_SUITE_P(Experiments, SlowPeakMemory,
                         ::testing::Values("austen", "austen_tiny", "llama2_test", "llama3_test", "qwen3_moe_test"),
                         [](const auto& experiment) { return std::string(experiment.param); });

}  // namespace
}  // namespace tenon
