// How well `tenon tune` predicts: a sample of the configurations it would try, of a small Llama on cpu:8, each
// compiled, its step estimated by the cost model, then run in turns. Prints both, Spearman's rank correlation, what the
// step that the estimate picks loses to the fastest, and what the experiment's own mesh rule would have cost. Fails
// below the limits, by processors' time over their number (the median of rounds), which what else runs on the machine
// changes less than the clock's (the least of rounds), which stands beside it.
//
//   tenon_bench_tune [SEED [CONFIGURATIONS [ROUNDS [AXIS,AXIS]]]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/experiment.h"
#include "tenon/tune/calibrate.h"
#include "tenon/tune/evaluation.h"
#include "tenon/tune/measure.h"
#include "tenon/tune/processor_time.h"
#include "tenon/tune/tuned_experiment.h"

namespace tenon {
namespace {

constexpr double kLeastCorrelation = 0.8, kLeastShare = 0.95;
constexpr size_t kMeasured = 3;
constexpr const char* kTarget = "cpu:8";
constexpr int64_t kBatch = 32;

struct Settings {
  unsigned seed = 1;
  size_t configurations = 24;
  int64_t rounds = 5;
  std::vector<std::string> axes = SearchSpace().axes;
};

struct Tried {
  std::string label;
  Trainer::Config config;
  double predicted = 0, processor = 0, clock = 0;
};

// 4 layers of width 128, 32 rows of 128 tokens: 4,096 tokens a step.
Overrides small_llama(const std::string& text) {
  Overrides o;
  o.assignments = {"args.num_layers=4",      "args.model_dim=128",       "args.num_heads=8",    "args.hidden_dim=384",
                   "args.vocab_size=512",    "args.sequence_length=128", "args.loss_chunks=1",  "args.fsdp=1",
                   "args.data_path=" + text, "model.compute_dtype=f32",  "args.warmup_steps=10"};
  return o;
}

SearchSpace space_of(const Settings& settings) {
  SearchSpace s;
  s.axes = settings.axes;
  s.remat = {"as_is", "nothing", "dots"};
  s.microbatches = {1, 2, 4};
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
    std::vector<Candidate> all = enumerate(space_of(settings_), target_, kBatch);
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
      all[i].processor = StepTimes::median(times[i].processor) / processors_for(target_.num_devices);
      all[i].clock = StepTimes::least(times[i].clock);
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

// By one kind of time: the rank correlation, and what of the best speed has the one with the least estimate, the
// fastest of the kMeasured with the least estimates and the experiment's own, and the experiment's own.
struct Verdict {
  double correlation = 0, pick = 0, measured_pick = 0, own_rule = 0;
};
Verdict judge(const std::vector<Tried>& all, double Tried::* time) {
  const auto less = [](double Tried::* by) { return [by](const Tried& a, const Tried& b) { return a.*by < b.*by; }; };
  const double best = (*std::min_element(all.begin(), all.end(), less(time))).*time;
  std::vector<Tried> by_estimate = all;
  std::sort(by_estimate.begin(), by_estimate.end(), less(&Tried::predicted));
  double measured = all.front().*time;
  for (size_t i = 0; i < std::min(kMeasured, all.size()); ++i) measured = std::min(measured, by_estimate[i].*time);
  return {spearman(column(all, &Tried::predicted), column(all, time)), best / (by_estimate.front().*time),
          best / measured, best / (all.front().*time)};
}

bool report(std::vector<Tried> all, const MachineSpeeds& s) {
  const Verdict by_processor = judge(all, &Tried::processor), by_clock = judge(all, &Tried::clock);
  std::printf(
      "speeds: f32 %.3g GFLOPS, memory %.3g GB/s, links %.3g GB/s, a collective %.3g us, an instruction %.3g us\n",
      s.peak(DType::f32) / 1e9, s.memory / 1e9, s.links / 1e9, 1e6 * s.collective_s, 1e6 * s.instruction_s);
  std::printf("%10s  %10s  %10s  configuration\n", "predicted", "processor", "clock");
  std::sort(all.begin(), all.end(), [](const Tried& a, const Tried& b) { return a.processor < b.processor; });
  for (const Tried& t : all)
    std::printf("%10.4f  %10.4f  %10.4f  %s\n", t.predicted, t.processor, t.clock, t.label.c_str());
  for (const auto& [name, v] : {std::pair("clock", by_clock), std::pair("processor", by_processor)}) {
    std::printf(
        "tune by %s time: %zu configurations, rank correlation %.3f; of the best speed the least estimate has %.1f %%, "
        "the fastest of the %zu least and the own rule %.1f %%, the own rule %.1f %%\n",
        name, all.size(), v.correlation, 100 * v.pick, kMeasured, 100 * v.measured_pick, 100 * v.own_rule);
  }
  std::printf("limits, by processor time: %.2f and %.0f %%\n", kLeastCorrelation, 100 * kLeastShare);
  return by_processor.correlation >= kLeastCorrelation && by_processor.pick >= kLeastShare;
}

int run(int argc, char** argv) {
  Settings settings;
  if (argc > 1) settings.seed = static_cast<unsigned>(std::atoi(argv[1]));
  if (argc > 2) settings.configurations = static_cast<size_t>(std::max(2, std::atoi(argv[2])));
  if (argc > 3) settings.rounds = std::atoi(argv[3]);
  if (argc > 4) settings.axes = split(argv[4], ',');
  const std::string text = std::filesystem::temp_directory_path() / ("tenon_bench_tune_" + random_suffix() + ".txt");
  const RemoveAtEnd remove(text);
  std::string words;
  for (int i = 0; i < 5000; ++i) words += "it is a truth that all the men of good fortune must be in want ";
  write_file_atomic(text, words).value();
  Validation validation(settings, text);
  std::vector<Tried> all = validation.predict();
  validation.measure(all);
  return report(std::move(all), validation.speeds()) ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  try {
    return tenon::run(argc, argv);
  } catch (const tenon::Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return tenon::exit_status(e.code());
  }
}
