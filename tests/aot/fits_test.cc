// Whether `tenon aot` is right when it says that a step fits: over many configurations and sizes of memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>

#include "measured_step.h"
#include "tenon/aot/cpu_workspace.h"
#include "tenon/aot/step_report.h"
#include "tenon/base/processors.h"
#include "tenon/base/text.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/experiment.h"
#include "tenon/experiments/resolve.h"

namespace tenon {
namespace {

constexpr int kConfigurations = 5;  // of each experiment
// Sizes of memory, as shares of what the step took.
constexpr double kLimits[] = {0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 1.07, 1.1, 1.15, 1.2, 1.25, 1.3};

// A configuration: what is laid over an experiment, and on how many devices.
struct Configuration {
  std::string experiment;
  Overrides overrides;
  int64_t num_devices = 1;
  std::string text() const {
    std::vector<std::string> parts = overrides.assignments;
    parts.insert(parts.end(), overrides.modifiers.begin(), overrides.modifiers.end());
    return fmt::format("{} on {}: {}", experiment, num_devices, join(parts, " "));
  }
};

struct Mesh4 {
  int64_t data, fsdp, model;
};

// Draws them, always the same ones.
class Draws {
 public:
  Configuration next(const std::string& experiment) {
    Configuration c;
    c.experiment = experiment;
    const auto set = [&](const char* path, const auto& value) {
      c.overrides.assignments.push_back(fmt::format("{}={}", path, value));
    };
    const bool unrolled = pick({0, 0, 0, 0, 1}) == 1;
    set("model.decoder.form", unrolled ? "unroll" : "scan");
    set("args.num_layers", unrolled ? pick({2, 4}) : pick({4, 6, 8, 12}));
    set("args.model_dim", pick({128, 192, 256}));
    set("args.sequence_length", pick({64, 128}));
    if (experiment != "austen_tiny") set("args.train_tokens", 100'000'000);  // more than it warms up for
    const bool experts = c.experiment == "qwen3_moe_test";
    set(experts ? "args.expert_hidden_dim" : "args.hidden_dim", experts ? pick({64, 96}) : pick({256, 512, 1024}));
    set("model.compute_dtype", pick<const char*>({"f32", "bf16"}));
    const Mesh4 mesh = pick<Mesh4>(
        {{1, 1, 1}, {1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {1, 4, 1}, {2, 2, 1}, {1, 2, 2}, {2, 1, 2}, {2, 2, 2}});
    set("mesh.data", mesh.data);
    set("mesh.fsdp", mesh.fsdp);
    set("mesh.model", mesh.model);
    c.num_devices = mesh.data * mesh.fsdp * mesh.model;
    const int64_t accumulation = pick({1, 1, 2, 4});
    set("accumulation", accumulation);
    set("args.batch_size", mesh.data * mesh.fsdp * accumulation * pick({2, 4, 8}));
    if (const char* optimizer = pick<const char*>({nullptr, "AdamW", "Lion", "Sgd", "Adafactor"})) {
      set("learner.optimizer", fmt::format("{{type = \"{}\"}}", optimizer));
    }
    if (const char* policy = pick<const char*>({nullptr, "SaveNothing", "SaveDots", "SaveEverything"})) {
      c.overrides.modifiers.push_back(
          fmt::format("SetRemat{{module = \"DecoderLayer\", policy = {{type = \"{}\"}}}}", policy));
    }
    return c;
  }

 private:
  template <class T>
  T pick(std::initializer_list<T> of) {
    return *(of.begin() + rng_() % of.size());
  }
  std::mt19937 rng_{7};
};

// How often a prediction was right.
struct Counts {
  int fit = 0, dont = 0, false_fits = 0, false_doesnt = 0;
  void add(bool predicted, bool actual) {
    ++(actual ? fit : dont);
    if (predicted && !actual) ++false_fits;
    if (!predicted && actual) ++false_doesnt;
  }
};

// What `tenon aot` says of a step, and whether the process took as much as the limit lets it.
class SlowFits : public ::testing::TestWithParam<const char*> {};

TEST_P(SlowFits, IsRightOverConfigurationsAndLimits) {
  register_everything(Registry::global());
  ExperimentRegistry experiments;
  register_experiments(experiments);
  Draws draws;
  Counts counts;
  double least = 9, most = 0;
  for (int number = 0; number < kConfigurations; ++number) {
    const Configuration c = draws.next(GetParam());
    SCOPED_TRACE(c.text());
    const MeasuredStep step = measure_step(Backend::open(fmt::format("cpu:{}", c.num_devices)),
                                           resolve(experiments.find(c.experiment), c.overrides).config);
    StepReport report;  // as `tenon aot --target cpu:…` fills it
    report.compiled = AotResult{};
    report.compiled->memory = step.predicted;
    report.workspace = cpu_workspace(step.optimized, c.num_devices, num_processors());
    for (const double share : kLimits) {
      report.chip.memory_bytes = std::llround(share * step.from_start);
      counts.add(report.fits(), share >= 1);
    }
    const double ratio = static_cast<double>(report.bytes()) / step.from_start;
    least = std::min(least, ratio);
    most = std::max(most, ratio);
    std::cout << fmt::format("{:.3f} times {:.1f} MB: {}\n", ratio, step.from_start / 1e6, c.text()) << std::flush;
  }
  std::cout << fmt::format(
      "{}: {} configurations, {} limits each: {} fit, {} don't; false \"fits\" {}, false \"doesn't\" {} ({:.1f} %); "
      "predicted {:.3f} to {:.3f} times what was taken\n",
      GetParam(), kConfigurations, std::size(kLimits), counts.fit, counts.dont, counts.false_fits, counts.false_doesnt,
      100.0 * counts.false_doesnt / counts.fit, least, most);
  EXPECT_EQ(counts.false_fits, 0);
  EXPECT_LE(counts.false_doesnt, 0.02 * counts.fit);
}

INSTANTIATE_TEST_SUITE_P(Experiments, SlowFits,
                         ::testing::Values("austen_tiny", "llama2_test", "llama3_test", "qwen3_moe_test"),
                         [](const auto& experiment) { return std::string(experiment.param); });

}  // namespace
}  // namespace tenon
