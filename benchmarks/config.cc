// One experiment resolved from a file, a mesh rule, modifiers and assignments, and printed. Prints the median wall time
// of many runs, and fails when the limit is missed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tenon/base/clock.h"
#include "tenon/base/file.h"
#include "tenon/config/registry.h"
#include "tenon/config/text.h"
#include "tenon/experiments/resolve.h"

namespace tenon {
namespace {

constexpr int kRuns = 101;
constexpr double kLimit = 0.005;

bool report(const std::string& file) {
  register_everything(Registry::global());
  ExperimentRegistry experiments;
  register_experiments(experiments);
  std::vector<double> seconds;
  size_t bytes = 0;
  for (int i = 0; i < kRuns; ++i) {
    const double start = steady_seconds();
    Overrides overrides{.files = {},
                        .assignments = {"max_steps=7"},
                        .instance = "gpu-h100-256",
                        .modifiers = {"UseDot{dot.type = 'Fp8Dot', within = 'model.decoder'}"}};
    const Experiment& experiment = find_experiment(experiments, file, overrides);
    bytes = to_toml(resolve(experiment, overrides).config).size();
    seconds.push_back(steady_seconds() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[kRuns / 2];
  std::printf("llama3_70b loaded, modified and printed: %.2f ms (limit %.0f ms), slowest of %d %.2f ms; %zu bytes\n",
              1e3 * median, 1e3 * kLimit, kRuns, 1e3 * seconds.back(), bytes);
  return median <= kLimit;
}

}  // namespace
}  // namespace tenon

int main() {
  const std::string file = std::filesystem::temp_directory_path() / ("tenon_bench_" + tenon::random_suffix() + ".toml");
  tenon::write_file_atomic(file, "base = \"llama3_70b\"\nmodel.loss_chunks = 4\naccumulation = 2\n").value();
  const bool fast = tenon::report(file);
  std::filesystem::remove(file);
  return fast ? EXIT_SUCCESS : EXIT_FAILURE;
}
