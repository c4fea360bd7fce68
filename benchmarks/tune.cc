// How well `tenon tune` predicts: a sample of the configurations it would try, of a small Llama on cpu:8, each
// compiled, its step estimated by the cost model, then run in turns. Prints both, Spearman's rank correlation, what the
// step that the estimate picks loses to the fastest, and what the experiment's own mesh rule would have cost. Fails
// below the limits.
//
//   tenon_bench_tune [SEED [CONFIGURATIONS [ROUNDS]]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tenon/base/file.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/experiment.h"
#include "tenon/tune/calibrate.h"
#include "tenon/tune/evaluation.h"
#include "tenon/tune/measure.h"
#include "tenon/tune/tuned_experiment.h"

namespace tenon {
namespace {

constexpr double kLeastCorrelation = 0.8, kLeastShare = 0.95;
constexpr const char* kTarget = "cpu:8";
constexpr int64_t kBatch = 32;

struct Settings {
  unsigned seed = 1;
  size_t configurations = 24;
  int64_t rounds = 5;
};

struct Tried {
  std::string label;
  Trainer::Config config;
  double predicted = 0, measured = 0, median = 0, cpu = 0;
};

// 4 layers of width 128, 32 rows of 128 tokens: 4,096 tokens a step.
Overrides small_llama(const std::string& text) {
  Overrides o;
  o.assignments = {
      "args.num_layers=4",      "args.model_dim=128",       "args.num_heads=8",         "args.hidden_dim=384",
      "args.vocab_size=512",    "args.sequence_length=128", "args.loss_chunks=1",       "args.fsdp=1",
      "args.data_path=" + text, "model.compute_dtype=f32",  "args.train_tokens=1000000"};
  return o;
}

SearchSpace space() {
  SearchSpace s;
  s.remat = {"as_is", "nothing", "dots"};
  s.accumulation = {1, 2, 4};
  return s;
}

class Validation {
 public:
  Validation(const Settings& settings, const std::string& text)
      : settings_(settings),
        target_(AotTarget::parse(kTarget)),
        reporter_(kTarget, {}),
        experiment_(registry().find("llama2_7b"), small_llama(text), target_, kBatch),
        speeds_(calibrate_cpu(target_.num_devices)) {}

  // The experiment's own, then a sample.
  std::vector<Tried> predict() {
    std::vector<Tried> out;
    add(out, "own rule", experiment_.by_own_rule());
    std::vector<Candidate> all = enumerate(space(), target_, kBatch);
    std::shuffle(all.begin(), all.end(), std::mt19937(settings_.seed));
    for (const Candidate& c : all) {
      if (out.size() == settings_.configurations) break;
      if (!why_not_divided(c, kBatch).empty()) continue;
      try {
        add(out, to_string(c), experiment_.by_rule(modifiers_of(c)));
      } catch (const Error& e) {
        std::fprintf(stderr, "left out: %s: %s\n", to_string(c).c_str(), e.what());
      }
    }
    return out;
  }
  void measure(std::vector<Tried>& all) const {
    std::vector<Trainer::Config> configs;
    for (const Tried& t : all) configs.push_back(t.config);
    const auto say = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    const std::vector<StepTimes> times = measure_steps(configs, Backend::open(kTarget), settings_.rounds, say);
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].measured = StepTimes::least(times[i].wall);
      all[i].median = StepTimes::median(times[i].wall);
      all[i].cpu = StepTimes::median(times[i].cpu);
    }
  }
  const MachineSpeeds& speeds() const { return speeds_; }

 private:
  static const ExperimentRegistry& registry() {
    register_everything(Registry::global());
    register_experiments(ExperimentRegistry::global());
    return ExperimentRegistry::global();
  }
  void add(std::vector<Tried>& out, std::string label, Trainer::Config config) const {
    const TracedStep traced = trace_train_step(config, target_.num_devices, reporter_.kernels());
    const StepReport report = reporter_.report(begin_train_report(config, traced), traced.mesh, traced.step.program);
    const Evaluation e = evaluation_of(report);
    const StepTime t = time_step(e.counts, speeds_);
    std::fprintf(
        stderr,
        "%zu  %s: %.4f s = products %.4f, arrays %.4f, links %.4f, %.0f collectives %.4f, %.0f instructions %.4f\n",
        out.size(), label.c_str(), t.sum(), t.products, t.other, t.links, e.counts.collectives, t.collectives,
        e.counts.instructions, t.instructions);
    Tried& tried = out.emplace_back();
    tried.label = std::move(label);
    tried.config = std::move(config);
    tried.predicted = t.sum();
  }
  Settings settings_;
  AotTarget target_;
  ProgramReporter reporter_;
  TunedExperiment experiment_;
  MachineSpeeds speeds_;
};

// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<double> out;
  for (const double v : values) {
    double below = 0, equal = 0;
    for (const double w : values) {
      below += w < v ? 1 : 0;
      equal += w == v ? 1 : 0;
    }
    out.push_back(below + (equal + 1) / 2);
  }
  return out;
}

// Pearson's correlation of the ranks.
double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = (static_cast<double>(x.size()) + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

std::vector<double> column(const std::vector<Tried>& all, double Tried::* field) {
  std::vector<double> out;
  for (const Tried& t : all) out.push_back(t.*field);
  return out;
}

bool report(const std::vector<Tried>& all, const MachineSpeeds& s) {
  std::printf(
      "speeds: f32 %.3g GFLOPS, memory %.3g GB/s, links %.3g GB/s, a collective %.3g us, an instruction %.3g us\n",
      s.peak(DType::f32) / 1e9, s.memory / 1e9, s.links / 1e9, 1e6 * s.collective_s, 1e6 * s.instruction_s);
  std::printf("%10s  %10s  %10s  %10s  configuration\n", "predicted", "measured", "median", "cpu");
  std::vector<Tried> sorted = all;
  std::sort(sorted.begin(), sorted.end(), [](const Tried& a, const Tried& b) { return a.measured < b.measured; });
  for (const Tried& t : sorted) {
    std::printf("%10.4f  %10.4f  %10.4f  %10.4f  %s\n", t.predicted, t.measured, t.median, t.cpu, t.label.c_str());
  }
  const Tried& pick = *std::min_element(all.begin(), all.end(),
                                        [](const Tried& a, const Tried& b) { return a.predicted < b.predicted; });
  const std::vector<double> predicted = column(all, &Tried::predicted);
  const double correlation = spearman(predicted, column(all, &Tried::measured));
  const double share = sorted.front().measured / pick.measured;
  std::printf(
      "tune: %zu configurations, Spearman %.3f (limit %.2f; medians %.3f, CPU %.3f), the pick (%s) has %.1f %% of the "
      "best speed (limit %.0f %%), the own rule %.1f %%\n",
      all.size(), correlation, kLeastCorrelation, spearman(predicted, column(all, &Tried::median)),
      spearman(predicted, column(all, &Tried::cpu)), pick.label.c_str(), 100 * share, 100 * kLeastShare,
      100 * sorted.front().measured / all.front().measured);
  return correlation >= kLeastCorrelation && share >= kLeastShare;
}

int run(int argc, char** argv) {
  Settings settings;
  if (argc > 1) settings.seed = static_cast<unsigned>(std::atoi(argv[1]));
  if (argc > 2) settings.configurations = static_cast<size_t>(std::max(2, std::atoi(argv[2])));
  if (argc > 3) settings.rounds = std::atoi(argv[3]);
  const std::string text = std::filesystem::temp_directory_path() / ("tenon_bench_tune_" + random_suffix() + ".txt");
  const RemoveAtEnd remove(text);
  std::string words;
  for (int i = 0; i < 5000; ++i) words += "it is a truth that all the men of good fortune must be in want ";
  write_file_atomic(text, words).value();
  Validation validation(settings, text);
  std::vector<Tried> all = validation.predict();
  validation.measure(all);
  return report(all, validation.speeds()) ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) { return tenon::run(argc, argv); }
