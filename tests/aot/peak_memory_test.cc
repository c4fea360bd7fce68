// What the compiler predicts of memory, and what a step takes.
#include <gtest/gtest.h>

#include <iostream>

#include "measured_step.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/experiment.h"
#include "tenon/experiments/resolve.h"

namespace tenon {
namespace {

class SlowPeakMemory : public ::testing::TestWithParam<const char*> {};

TEST_P(SlowPeakMemory, IsWhatWasPredicted) {
  register_everything(Registry::global());
  ExperimentRegistry experiments;
  register_experiments(experiments);
  const MeasuredStep step = measure_step(Backend::open("cpu"), resolve(experiments.find(GetParam()), {}).config);
  const pjrt::MemoryStats& m = step.predicted;
  const double actual = step.actual;
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
