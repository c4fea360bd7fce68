#include "tenon/trainer/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tenon/base/clock.h"
#include "tenon/base/json.h"
#include "tenon/base/text.h"
#include "tenon/config/validate.h"
#include "tenon/data/dataset.h"
#include "tenon/runtime/chips.h"
#include "tenon/trainer/trace_step.h"
#include "tenon/trainer/train_session.h"

namespace tenon {
namespace {

constexpr int64_t kMaxSteps = 10000;

Error bad_steps(const char* option, int64_t got) {
  return Error(ErrorCode::invalid_argument, "not a number of steps to run").at(option).got(std::to_string(got));
}

void check(const MeasureOptions& options, const Dataset& data) {
  if (options.steps < 1 || options.steps > kMaxSteps) {
    throw bad_steps("--steps", options.steps).expected(fmt::format("1 to {}", kMaxSteps));
  }
  if (options.warm_up < 0 || options.warm_up > kMaxSteps) {
    throw bad_steps("--warm_up", options.warm_up).expected(fmt::format("0 to {}", kMaxSteps));
  }
  const int64_t all = options.warm_up + options.steps;
  if (const std::optional<int64_t> there = data.num_batches(); there && *there < all) {
    throw Error(ErrorCode::invalid_argument, "the training data ends before the steps do")
        .at("data")
        .got(fmt::format("{} batches", *there))
        .expected(fmt::format("{}", all));
  }
}

// The steps of a session, one after the other.
class Steps {
 public:
  Steps(TrainSession& session, const Dataset& data, const MeasureOptions& options)
      : session_(session), warm_up_(options.warm_up) {
    const auto& names = session.metric_names();
    const auto index = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) - names.begin();
    };
    loss_ = index("loss");
    weight_ = index(session.weight_metric());
    for (int64_t i = 0; i < warm_up_ + options.steps; ++i) batches_.push_back(data.batch(i));
  }

  void run(StepMeasurement& out) {
    std::optional<Array> before;
    for (size_t i = 0; i < batches_.size(); ++i) {
      const auto step = static_cast<int64_t>(i);
      if (step == warm_up_ && before) {  // what is timed begins with idle devices
        settle(step - 1, *std::exchange(before, std::nullopt), out);
      }
      if (step == warm_up_) since_ = steady_seconds();
      Array metrics = session_.train_step(step, batches_[i]);
      if (before) settle(step - 1, *before, out);
      before = std::move(metrics);
    }
    settle(static_cast<int64_t>(batches_.size()) - 1, *before, out);
  }

 private:
  void settle(int64_t step, const Array& metrics, StepMeasurement& out) {
    const Literal values = metrics.to_literal();
    out.losses.push_back(values.as_double(loss_));
    if (!std::isfinite(out.losses.back())) {
      throw Error(ErrorCode::non_finite, "the loss isn't finite")
          .at(fmt::format("step {}", step + 1))
          .got(fmt::format("{}", out.losses.back()));
    }
    if (step < warm_up_) return;
    const double now = steady_seconds();
    out.step_s.push_back(now - std::exchange(since_, now));
    out.weight += values.as_double(weight_);
  }

  TrainSession& session_;
  int64_t warm_up_, loss_ = 0, weight_ = 0;
  std::vector<Batch> batches_;
  double since_ = 0;
};

StepMeasurement describe(const Backend& backend, const TrainSession& session) {
  const Executable& step = session.train_executable();
  StepMeasurement out;
  out.platform = backend.platform();
  out.device_kind = backend.device_kind();
  out.plugin_version = backend.client().platform_version();
  out.num_devices = step.mesh().num_devices();
  out.mesh = to_string(step.mesh());
  out.compiled = step.memory();
  out.compile_s = step.compile_seconds();
  for (const KernelChoice& choice : step.program().kernels) out.kernels.push_back(to_string(choice));
  return out;
}

}  // namespace

double StepMeasurement::seconds() const {
  return std::accumulate(step_s.begin(), step_s.end(), 0.0) / static_cast<double>(step_s.size());
}

double StepMeasurement::rate() const { return weight / (seconds() * static_cast<double>(step_s.size())); }

StepMeasurement measure_steps(const Trainer::Config& config, std::shared_ptr<const Backend> backend,
                              const MeasureOptions& options) {
  validate(config);
  const Trainer trainer(config);
  check(options, trainer.data());
  const StepSettings settings = step_settings(config, backend->num_devices(), backend->kernels());
  TrainSession session(trainer.model(), trainer.learner(), {backend, settings, config.seed, options.cache});
  StepMeasurement out = describe(*backend, session);
  out.unit = trainer.model().unit();
  session.initialize();
  Steps(session, trainer.data(), options).run(out);
  out.device_peak = backend->client().peak_memory();
  if (const Chip* chip = backend->chip()) {
    out.chip = chip->name;
    const double peak = chip->peak_flops() * static_cast<double>(out.num_devices);
    out.mfu = 3 * count_forward_flops(config, out.num_devices).all_products() / out.seconds() / peak;
  }
  return out;
}

std::string format_measurement(const StepMeasurement& m) {
  const auto bytes = [](int64_t count) { return format_bytes(static_cast<uint64_t>(std::max<int64_t>(count, 0))); };
  const auto [fastest, slowest] = std::minmax_element(m.step_s.begin(), m.step_s.end());
  std::string out =
      fmt::format("{} x {} ({}), mesh {}\n", m.num_devices, m.platform, m.device_kind, m.mesh.empty() ? "1" : m.mesh);
  for (const std::string& kernel : m.kernels) out += kernel + "\n";
  out += fmt::format("{} steps of {:.4f} s ({:.4f} to {:.4f}): {:.0f} {}/s", m.step_s.size(), m.seconds(), *fastest,
                     *slowest, m.rate(), m.unit);
  if (m.mfu) out += fmt::format(", MFU {:.1f} %", 100 * *m.mfu);
  out += fmt::format("\nloss {:.4f} to {:.4f}\n", m.losses.front(), m.losses.back());
  out += fmt::format("memory of a device: {} expected by the compiler's count, ", bytes(m.expected_peak()));
  return out +
         (m.device_peak ? fmt::format("at most {} in use\n", bytes(*m.device_peak)) : "not counted by the plugin\n");
}

std::string measurement_json(const StepMeasurement& m) {
  const auto list = [](const auto& values) { return Json::List(values.begin(), values.end()); };
  const Json out = Json::Object{{"platform", m.platform},
                                {"device_kind", m.device_kind},
                                {"plugin_version", m.plugin_version},
                                {"chip", m.chip},
                                {"num_devices", m.num_devices},
                                {"mesh", m.mesh},
                                {"kernels", list(m.kernels)},
                                {"compile_s", m.compile_s},
                                {"expected_peak_bytes", m.expected_peak()},
                                {"device_peak_bytes", m.device_peak ? Json(*m.device_peak) : Json()},
                                {"seconds", m.seconds()},
                                {"step_s", list(m.step_s)},
                                {"unit", m.unit},
                                {"rate", m.rate()},
                                {"mfu", m.mfu ? Json(*m.mfu) : Json()},
                                {"losses", list(m.losses)}};
  return out.text({.indent = 2, .replace_bad_utf8 = true}) + "\n";
}

}  // namespace tenon
