// What the compiler predicts of memory, and what a step takes.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "measured_step.h"
#include "tenon/aot/cpu_workspace.h"
#include "tenon/base/processors.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/experiment.h"
#include "tenon/experiments/resolve.h"

namespace tenon {
namespace {

// Some hundred MB: what the runtime and its libraries take beside is some MB, whatever the step.
Overrides widened(std::string_view experiment) {
  Overrides out;
  if (experiment == "austen") {
    out.assignments = {"args.batch_size=32"};
    return out;
  }
  const char* hidden = experiment == "qwen3_moe_test" ? "args.expert_hidden_dim=128" : "args.hidden_dim=512";
  out.assignments = {"args.model_dim=256", "args.sequence_length=128", "args.batch_size=64", hidden};
  if (experiment != "austen_tiny") out.assignments.emplace_back("args.train_tokens=1000000");
  return out;
}

class SlowPeakMemory : public ::testing::TestWithParam<const char*> {};

TEST_P(SlowPeakMemory, IsWhatWasPredicted) {
  register_everything(Registry::global());
  ExperimentRegistry experiments;
  register_experiments(experiments);
  const MeasuredStep step =
      measure_step(Backend::open("cpu"), resolve(experiments.find(GetParam()), widened(GetParam())).config);
  const pjrt::MemoryStats& m = step.predicted;
  const double actual = step.actual;
  const auto predicted = static_cast<double>(m.argument + m.output - m.alias + m.temporary);
  const auto workspace = static_cast<double>(cpu_workspace(step.optimized, 1, num_processors()));
  std::cout << GetParam() << ": predicted " << predicted << ", with workspace " << predicted + workspace << ", actual "
            << actual << "\n";
  // Whether XLA's own products pack their operands, which its account leaves out and ours guesses, is the processor's.
  const auto is_near = [&](double bytes) { return std::abs(actual / bytes - 1) <= 0.02; };
  EXPECT_TRUE(is_near(predicted) || is_near(predicted + workspace)) << actual;
}

INSTANTIATE_TEST_SUITE_P(Experiments, SlowPeakMemory,
                         ::testing::Values("austen", "austen_tiny", "llama2_test", "llama3_test", "qwen3_moe_test"),
                         [](const auto& experiment) { return std::string(experiment.param); });

}  // namespace
}  // namespace tenon
