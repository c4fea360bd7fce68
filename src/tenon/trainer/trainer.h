// Training: a model, a learner and data composed into a run that logs, evaluates, saves and resumes.
//
// A run lives in one directory:
//   config.toml          the whole Trainer::Config
//   step_00000100/ …     checkpoints (tenon/checkpoint/checkpoint.h), each with the config
//   metrics.jsonl, tensorboard/
//   LOCK                 held while a run is going
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/checkpoint/keep_policy.h"
#include "tenon/config/config.h"
#include "tenon/trainer/kernel_config.h"
#include "tenon/trainer/mesh_config.h"
#include "tenon/trainer/profile.h"
#include "tenon/trainer/run_config.h"
#include "tenon/trainer/watchdog.h"

namespace tenon {

class Backend;
class Dataset;
class Evaluator;
class Learner;
class Model;
class StepHook;
class SummaryWriter;

// Whether a run goes on from the newest good checkpoint of its directory: if there is one; never (and a directory that
// has checkpoints is refused); or it must.
enum class Resume : uint8_t { automatic, never, must };
// "auto", "never", "must".
Result<Resume> parse_resume(std::string_view text);

struct RunOptions {
  std::string dir;
  std::string platform = "cpu";
  Resume resume = Resume::automatic;
  // Resuming takes of the learner's state what fits this learner (match_learner); the rest is lost, and says so.
  bool new_optimizer = false;
  // Compiles and reports; trains and writes nothing (but compiled programs). The result is that of no steps.
  bool dry_run = false;
  // Ends the run at the first step whose loss or gradients aren't finite, and says where they went so. Waits for each
  // step before the next one starts.
  bool trap_non_finite = false;
  // Steps to record, into `dir`/profile.
  std::optional<StepRange> profile = {};
  // Takes a train step for which the compiler gives up on keeping arrays split (require_kept_split).
  bool allow_replication = false;
  // Prints the final line only.
  bool quiet = false;
  std::FILE* out = stdout;
  // Keeps compiled programs on disk (CompileCache).
  bool compile_cache = true;
  // Used in place of opening `platform`.
  std::shared_ptr<const Backend> backend = {};
};

struct TrainResult {
  int64_t step = 0;                        // steps done
  double train_loss = 0;                   // mean over the steps since the last log line, or over its own
  std::map<std::string, double> eval;      // what the evaluator "eval" measured last; empty without held-out data
  std::string headline = "bits_per_byte";  // of these, what the final line has besides the loss: Model::headline
  std::string unit = "tokens";             // Model::unit
  double rate = 0;                         // of these a second
};
// "final: step=… train_loss=… eval_loss=… bits_per_byte=… tokens_per_s=…", as the model names the last two; "none" for
// what wasn't measured.
std::string format_final(const TrainResult& result);

class Trainer final : public Configurable {
 public:
  struct Config : AnyConfig {
    Config();
    Slot<Model> model;
    Slot<Learner> learner;
    Slot<Dataset> data;
    MeshConfig mesh;
    KernelConfig kernels;
    Required<int64_t> max_steps;
    // Of the initial parameters and of random draws in the model.
    int64_t seed = 0;
    int64_t accumulation = 1;
    // Mesh axes that what the optimizer keeps is split over, besides those of its parameter (StepSettings).
    std::vector<std::string> optimizer_axes;
    // XLA flags of the train and evaluation steps, by name without dashes: {xla_gpu_deterministic_ops = "true"}.
    std::map<std::string, std::string> xla_flags;
    int64_t log_every_n_steps = 10;
    // 0: at the end only.
    int64_t eval_every_n_steps = 0;
    int64_t save_every_n_steps = 0;
    KeepPolicy keep;
    InitFrom init_from;
    WatchdogConfig watchdog;
    SummarizeConfig summarize;
    // By name: "eval" measures what its summaries call "eval/loss" and so on.
    std::map<std::string, Slot<Evaluator>> evaluators;
    std::map<std::string, Slot<StepHook>> hooks;
    std::map<std::string, Slot<SummaryWriter>> summaries;
    void check(Checker& c) const;
    TENON_CONFIG(model, learner, data, mesh, kernels, max_steps, seed, accumulation, optimizer_axes, xla_flags,
                 log_every_n_steps, eval_every_n_steps, save_every_n_steps, keep, init_from, watchdog, summarize,
                 evaluators, hooks, summaries)
  };
  // Builds all parts; errors carry config paths.
  explicit Trainer(const Config& config);
  ~Trainer() override;

  const Config& config() const { return config_; }
  const Model& model() const { return *model_; }
  const Learner& learner() const { return *learner_; }
  const Dataset& data() const { return *data_; }

  // Trains until max_steps. Throws `invalid_argument` when steps to profile aren't in it; `interrupted` after a signal
  // to stop (StopSignal), when everything is saved; `non_finite` when the learner's limit of skipped steps is reached,
  // or at the first when it is trapped; `io` when another run has the directory; `incompatible` when its checkpoint is
  // of another architecture; and what compiling and saving throw.
  TrainResult run(const RunOptions& options) const;

 private:
  Config config_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<Dataset> data_;
};

// Checks the whole config, builds it and runs.
TrainResult train(const Trainer::Config& config, const RunOptions& options);

}  // namespace tenon
