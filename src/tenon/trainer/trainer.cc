#include "tenon/trainer/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tenon/config/access.h"
#include "tenon/config/build_part.h"
#include "tenon/config/config_type.h"
#include "tenon/config/define.h"
#include "tenon/config/validate.h"
#include "tenon/data/dataset.h"
#include "tenon/optim/learner.h"
#include "tenon/trainer/evaluator.h"
#include "tenon/trainer/run.h"
#include "tenon/trainer/step_hook.h"
#include "tenon/trainer/summary_jsonl.h"
#include "tenon/trainer/summary_tensorboard.h"

namespace tenon {

TENON_MODULE(Trainer, Configurable, "trains a model on data", {"model", "what is trained"},
             {"learner", "from gradients to parameters"}, {"data", "training batches and held-out ones"},
             {"mesh", "devices along each axis"}, {"kernels", "which of the platform's kernels are used"},
             {"max_steps", "steps in all"}, {"seed", "of initial parameters and random draws"},
             {"accumulation", "microbatches in one step"},
             {"optimizer_axes", "mesh axes that what the optimizer keeps is split over besides its parameter's"},
             {"xla_flags",
              "of the compiler, for the train and evaluation steps; a plugin refuses those it doesn't know"},
             {"log_every_n_steps", "steps between log lines"},
             {"eval_every_n_steps", "steps between evaluations; 0: at the end only"},
             {"save_every_n_steps", "steps between checkpoints; 0: at the end only"},
             {"keep", "which checkpoints stay"}, {"init_from", "what a new run takes from a checkpoint"},
             {"watchdog", "how long a step, a start or a save may take"},
             {"summarize", "summaries that cost something"}, {"evaluators", "by name: what is measured"},
             {"hooks", "by name: what sees every step"}, {"summaries", "by name: where numbers go"})

Trainer::Config::Config()
    : learner(Learner::Config{}),
      evaluators{{"eval", LossEvaluator::Config{}}},
      summaries{{"jsonl", JsonlWriter::Config{}}, {"tensorboard", TensorBoardWriter::Config{}}} {}

void Trainer::Config::check(Checker& c) const {
  c.positive("max_steps", max_steps);
  c.at_most("max_steps", max_steps, std::numeric_limits<int32_t>::max());
  c.positive("accumulation", accumulation);
  for (const std::string& axis : optimizer_axes) {
    c.require(std::find(kMeshAxes.begin(), kMeshAxes.end(), axis) != kMeshAxes.end(), "optimizer_axes",
              "must be mesh axes: pipeline, data, expert, fsdp, seq, model");
  }
  c.require(std::set(optimizer_axes.begin(), optimizer_axes.end()).size() == optimizer_axes.size(), "optimizer_axes",
            "must name each axis once");
  c.positive("log_every_n_steps", log_every_n_steps);
  c.at_least("eval_every_n_steps", eval_every_n_steps, 0);
  c.at_least("save_every_n_steps", save_every_n_steps, 0);
}

Result<Resume> parse_resume(std::string_view text) {
  if (text == "auto") return Resume::automatic;
  if (text == "never") return Resume::never;
  if (text == "must") return Resume::must;
  return Error(ErrorCode::invalid_argument, "no such way to resume")
      .got(std::string(text))
      .expected("auto, never or must");
}

std::string format_final(const TrainResult& r) {
  const auto measured = [&](const std::string& name) {
    const auto found = r.eval.find(name);
    return found == r.eval.end() ? "none" : fmt::format("{:.4f}", found->second);
  };
  return fmt::format("final: step={} train_loss={:.4f} eval_loss={} {}={} {}_per_s={:.4f}", r.step, r.train_loss,
                     measured("loss"), r.headline.substr(r.headline.rfind('.') + 1), measured(r.headline), r.unit,
                     r.rate);
}

namespace {

// The tokens that a model has, where its config says how many.
std::optional<int64_t> vocab_size(const AnyConfig& model) {
  constexpr std::string_view kField = "vocab_size";
  if (find_field(model.type().fields(), kField) == nullptr) return std::nullopt;
  return get_as<int64_t>(model, kField);
}

void check_vocabulary(const AnyConfig& model, const Dataset& data) {
  const std::optional<int64_t> has = vocab_size(model);
  const int64_t needed = data.vocab_size();
  if (!has || *has >= needed) return;
  throw Error(ErrorCode::invalid_argument, "the data has tokens that the model doesn't know")
      .at("model.vocab_size")
      .got(std::to_string(*has))
      .expected(fmt::format("at least {}, the tokenizer's vocabulary and what the dataset adds to it", needed))
      .hint("choose a larger vocab_size, or prepare the data with a smaller tokenizer");
}

}  // namespace

Trainer::Trainer(const Config& config)
    : config_(config),
      model_(build_part("model", config.model)),
      learner_(build_part("learner", config.learner)),
      data_(build_part("data", config.data)) {
  check_vocabulary(*config.model, *data_);
}
Trainer::~Trainer() = default;

TrainResult Trainer::run(const RunOptions& options) const { return Run(*this, options).train(); }

TrainResult train(const Trainer::Config& config, const RunOptions& options) {
  validate(config);
  return Trainer(config).run(options);
}

}  // namespace tenon
