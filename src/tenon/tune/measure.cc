#include "tenon/tune/measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/clock.h"
#include "tenon/trainer/trace_step.h"
#include "tenon/trainer/train_session.h"
#include "tenon/tune/processor_time.h"

namespace tenon {
namespace {

// A training that is ready for its next step.
class Runner {
 public:
  Runner(const Trainer::Config& config, const std::shared_ptr<const Backend>& backend, const CompileCache* cache)
      : trainer_(config),
        session_(trainer_.model(), trainer_.learner(),
                 {backend, step_settings(config, backend->num_devices(), backend->kernels()), config.seed, cache}) {
    session_.initialize();
  }
  const Trainer& trainer() const { return trainer_; }
  void step(const Batch& batch) { session_.train_step(step_++, batch).wait(); }

 private:
  Trainer trainer_;
  TrainSession session_;
  int64_t step_ = 0;
};

}  // namespace

double StepTimes::least(const std::vector<double>& seconds) {
  return *std::min_element(seconds.begin(), seconds.end());
}

double StepTimes::median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

std::vector<StepTimes> measure_steps(const std::vector<Trainer::Config>& configs,
                                     const std::shared_ptr<const Backend>& backend, int64_t rounds,
                                     const std::function<void(const std::string&)>& progress) {
  if (rounds < 1) {
    throw Error(ErrorCode::invalid_argument, "no steps to measure").got(std::to_string(rounds)).expected("at least 1");
  }
  const CompileCache cache;
  std::vector<std::unique_ptr<Runner>> runners;
  for (const Trainer::Config& config : configs) {
    runners.push_back(std::make_unique<Runner>(config, backend, &cache));
    runners.back()->step(runners[0]->trainer().data().batch(0));
    if (progress) progress(fmt::format("ready to measure: {} of {}", runners.size(), configs.size()));
  }
  std::vector<StepTimes> out(configs.size());
  for (int64_t round = 0; round < rounds; ++round) {
    const Batch batch = runners[0]->trainer().data().batch(round + 1);
    for (size_t i = 0; i < runners.size(); ++i) {
      const double start = steady_seconds(), cpu = processor_seconds();
      runners[i]->step(batch);
      out[i].clock.push_back(steady_seconds() - start);
      out[i].processor.push_back(processor_seconds() - cpu);
    }
    if (progress) progress(fmt::format("measured: round {} of {}", round + 1, rounds));
  }
  return out;
}

}  // namespace tenon
