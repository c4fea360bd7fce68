// From the config of Llama-2 7B (Touvron et al. 2023) to the text of its training step: tracing, differentiation, the
// passes, printing. Prints wall and CPU seconds, medians of several runs, and fails when a limit is missed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

#include "tenon/base/clock.h"
#include "tenon/config/build_part.h"
#include "tenon/data/language_dataset.h"
#include "tenon/experiments/llama.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/trainer/train_step.h"
#include "tenon/trainer/trainer.h"

namespace tenon {
namespace {

constexpr int kRuns = 5;
constexpr int64_t kBatch = 8, kTokens = 4096;

struct Run {
  double trace = 0, passes = 0, print = 0, cpu = 0;  // seconds
  size_t ops = 0, ops_traced = 0, bytes = 0;
  double total() const { return trace + passes + print; }
};

size_t count_ops(const Trace& trace, RegionId region) {
  size_t count = trace.region(region).ops.size();
  for (const OpId op : trace.region(region).ops) {
    for (const RegionId inner : trace.op(op).regions) count += count_ops(trace, inner);
  }
  return count;
}

Run run(const Model& model, const Learner& learner) {
  Run out;
  double passes_from = 0, passes_to = 0;
  StepSettings settings{Mesh(), token_batch_types(kBatch, kTokens), 1, {}, {}};
  settings.pass_observer = [&](const Pass* pass, const Graph& graph) {
    const size_t ops = count_ops(*graph.trace, graph.root);
    if (pass == nullptr) {
      out.ops_traced = ops;
      passes_from = steady_seconds();
    }
    out.ops = ops;
    passes_to = steady_seconds();
  };
  const std::clock_t cpu = std::clock();
  const double start = steady_seconds();
  const TrainProgram step = make_train_program(model, learner, settings);
  out.trace = passes_from - start;
  out.passes = passes_to - passes_from;
  out.print = steady_seconds() - passes_to;
  out.cpu = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  out.bytes = step.program.text.size();
  return out;
}

bool report(const char* name, StackForm form, double limit) {
  Trainer::Config config = Llama{}();
  config.model.as<CausalLm>().decoder.as<Decoder>().form = form;
  const std::unique_ptr<Model> model = build_part("model", config.model);
  const std::unique_ptr<Learner> learner = build_part("learner", config.learner);
  std::vector<Run> runs;
  for (int i = 0; i < kRuns; ++i) runs.push_back(run(*model, *learner));
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.total() < b.total(); });
  const Run& r = runs[kRuns / 2];
  std::printf(
      "llama2_7b %s: %.3f s (limit %.2f s), %.3f s of CPU; traced and differentiated %.3f s, passes %.3f s, printed "
      "%.3f s; %zu ops from %zu, %zu bytes of text\n",
      name, r.total(), limit, r.cpu, r.trace, r.passes, r.print, r.ops, r.ops_traced, r.bytes);
  return r.total() <= limit;
}

}  // namespace
}  // namespace tenon

int main() {
  const bool scanned = tenon::report("scanned", tenon::StackForm::scan, 0.15);
  const bool unrolled = tenon::report("unrolled", tenon::StackForm::unroll, 1.5);
  return scanned && unrolled ? EXIT_SUCCESS : EXIT_FAILURE;
}
