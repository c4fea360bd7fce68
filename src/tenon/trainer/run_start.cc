// How a run begins: its directory, what it goes on from, its programs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "tenon/base/file.h"
#include "tenon/base/span.h"
#include "tenon/base/text.h"
#include "tenon/checkpoint/keep_policy.h"
#include "tenon/config/build_part.h"
#include "tenon/config/text.h"
#include "tenon/runtime/chips.h"
#include "tenon/runtime/compiler_warnings.h"
#include "tenon/trainer/machine_memory.h"
#include "tenon/trainer/metric_name.h"
#include "tenon/trainer/run.h"
#include "tenon/trainer/trace_step.h"

namespace tenon {
namespace {

constexpr std::string_view kHookState = "hook.";

// "12 tensors: a, b, c, …".
std::string some_names(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  const auto shown = static_cast<int64_t>(std::min(names.size(), kShown));
  return fmt::format("{} tensors: {}{}", names.size(), join({names.begin(), names.begin() + shown}, ", "),
                     names.size() > kShown ? ", …" : "");
}

}  // namespace

void Run::open_dir() {
  if (options_.dir.empty()) throw Error(ErrorCode::invalid_argument, "a run needs a directory").at("dir");
  if (options_.resume == Resume::must && !is_dir(options_.dir)) {
    throw Error(ErrorCode::not_found, "there is nothing to resume").at(options_.dir);
  }
  const auto guard = [this](int64_t step) {
    return std::make_shared<Watchdog::Watch>(watchdog_, fmt::format("the save of step {}", step));
  };
  saver_ = std::make_unique<AsyncSaver>(options_.dir, SaveOptions{.keep = config_.keep}, guard);
}

// Before anything is compiled, so that what can't go on says so at once.
void Run::find_checkpoint() {
  const std::vector<int64_t> steps = list_steps(options_.dir).value();
  if (steps.empty()) {
    if (options_.resume == Resume::must || options_.new_optimizer) {
      throw Error(ErrorCode::not_found, "there is no checkpoint to resume from")
          .at(options_.dir)
          .hint(options_.new_optimizer ? "leave --new_optimizer out: a new run has a new optimizer anyway" : "");
    }
    return;
  }
  if (options_.resume == Resume::never) {
    throw Error(ErrorCode::invalid_argument, "the directory already has checkpoints, and resume is 'never'")
        .at(join_path(options_.dir, step_dir_name(steps.back())))
        .hint("choose another directory, or resume");
  }
  checkpoint_ = open_latest(options_.dir).value();
  for (const std::string& warning : checkpoint_->warnings()) log_.line("warning: " + warning);
  log_.line(fmt::format("resuming from {} (step {})", checkpoint_->path(), checkpoint_->step()));
  if (checkpoint_->step() > config_.max_steps) {
    log_.line(fmt::format("warning: nothing to train: it is past max_steps = {}", config_.max_steps));
  }
  const std::unique_ptr<Learner> saved = compare_configs(*checkpoint_);
  match_ = check_learner(saved.get());
  if (!match_.is_exact()) report_match();
}

void Run::report_match() {
  std::vector<std::string> others = match_.lost;
  others.insert(others.end(), match_.anew.begin(), match_.anew.end());
  log_.line("of the learner goes on: " + format_groups(match_.kept, others));
  log_.line("lost from the checkpoint: " + format_groups(match_.lost, match_.kept));
  log_.line("starts anew: " + format_groups(match_.anew, match_.kept));
}

void Run::open_init_from() {
  if (checkpoint_ || config_.init_from.checkpoint.empty()) return;
  init_from_ = open_checkpoint(config_.init_from.checkpoint).value();
  for (const std::string& warning : init_from_->warnings()) log_.line("warning: " + warning);
}

// Where the checkpoint's learner isn't known, names alone decide whether a run goes on; what is to be kept of another
// learner must be sure.
LearnerMatch Run::check_learner(const Learner* saved) const {
  const StateLayout layout = layout_state(trainer_.model(), trainer_.learner());
  check_compatible(std::span(layout.arrays).first(layout.model.size()), *checkpoint_, kLearnerPrefix);
  const Learner& learner = trainer_.learner();
  std::map<std::string, bool> rules = learner.compare_rules(layout.updated, saved != nullptr ? *saved : learner);
  if (saved == nullptr && options_.new_optimizer) {
    for (auto& [name, same] : rules) same = false;
  }
  LearnerMatch out = match_learner(layout, rules, *checkpoint_);
  if (out.is_exact() || options_.new_optimizer) return out;
  throw Error(ErrorCode::incompatible,
              fmt::format("the checkpoint is of another learner; {} would be lost, {} new",
                          format_groups(out.lost, out.kept), format_groups(out.anew, out.kept)))
      .at(checkpoint_->path())
      .hint("resume with --new_optimizer: what fits goes on, the rest starts anew");
}

std::unique_ptr<Learner> Run::compare_configs(const OpenedCheckpoint& checkpoint) {
  try {
    const std::string text = checkpoint.file("config.toml").value();
    const Slot<Trainer> saved = from_toml_as<Trainer>(text, checkpoint.path() + "/config.toml");
    if (text != config_text_) {
      for (const Difference& d : diff(*saved, config_)) log_.line("config changed: " + to_string(d));
    }
    return build_part("learner", saved->learner);
  } catch (const Error& e) {
    log_.line(fmt::format("warning: the checkpoint's config can't be compared: {}", e.what()));
    return nullptr;
  }
}

void Run::compile_programs() {
  if (options_.backend == nullptr) options_.backend = Backend::open(options_.platform);
  const StepSettings step = step_settings(config_, options_.backend->num_devices(), options_.backend->kernels());
  const Mesh& mesh = step.mesh;
  log_.line(fmt::format("{} x {} ({}), mesh {}", mesh.num_devices(), options_.backend->platform(),
                        options_.backend->device_kind(), to_string(mesh)));
  log_.line(trainer_.data().describe());
  log_.line(format_parameters(describe_state(trainer_.model())));
  SessionSettings settings{options_.backend, step, config_.seed, options_.compile_cache ? &cache_ : nullptr};
  session_ = std::make_unique<TrainSession>(trainer_.model(), trainer_.learner(), std::move(settings));
  log_.line(format_compiled("train step", session_->train_executable()));
  require_machine_memory(
      "a step", session_->train_executable().memory().total(), *options_.backend,
      "take smaller batches or more microbatches (accumulation), or keep less of the layers (remat)");
  if (!options_.allow_replication) require_kept_split(session_->train_executable().warnings());
  log_.line(fmt::format("train step: {:.3f} GFLOPs", session_->flops() / 1e9));
  for (const KernelChoice& choice : session_->train_executable().program().kernels) log_.line(to_string(choice));
  if (options_.backend->platform() == "cpu" && uses_host_memory(session_->train_executable().program())) {
    log_.line("note: the CPU has one memory: what is to lie on the host, not on the device, lies in the same");
  }
  if (const Chip* chip = options_.backend->chip()) {
    peak_flops_ = chip->peak_flops() * static_cast<double>(mesh.num_devices());
    model_flops_ = 3 * count_forward_flops(config_, mesh.num_devices()).all_products();
    log_.line(fmt::format(
        "MFU: 3 x {:.3f} GFLOPs of the forward pass's products / seconds of a step / {:.4g} TFLOPS ({} x {}, {})",
        model_flops_ / 3e9, peak_flops_ / 1e12, mesh.num_devices(), chip->name, chip->peak_source));
  }
  prepare_evaluators();
}

void Run::prepare_evaluators() {
  for (const auto& [name, slot] : config_.evaluators) {
    const std::string path = "evaluators." + name;
    std::unique_ptr<Evaluator> evaluator = build_part(path, slot);
    try {
      const std::optional<Evaluator::Prepared> prepared = evaluator->prepare(*session_, trainer_.data());
      if (!prepared) continue;
      log_.line(name + ": " + prepared->log);
      for (const std::string& metric : prepared->metrics) evaluated_names_.push_back(name + "/" + metric);
    } catch (Error& e) {
      e.prefix(path);
      throw;
    }
    evaluators_.push_back({name, std::move(evaluator), slot->every_n_steps.value_or(config_.eval_every_n_steps), {}});
  }
  check_best_metric();
}

void Run::check_best_metric() const {
  if (config_.keep.best_n == 0) return;
  std::vector<std::string> known = evaluated_names_;
  known.push_back("train/loss");
  try {
    require_metric(config_.keep.best_metric, known);
  } catch (Error& e) {
    e.at("keep.best_metric");
    throw;
  }
}

void Run::start() {
  if (checkpoint_) {
    restore(*checkpoint_);
    checkpoint_.reset();
  } else {
    initialize();
  }
  write_file_atomic(join_path(options_.dir, "config.toml"), config_text_).value();
}

void Run::restore(const OpenedCheckpoint& checkpoint) {
  const Watchdog::Watch watch(watchdog_, "restoring");
  session_->restore(checkpoint, match_);
  step_ = checkpoint.step();
  saved_step_ = step_;
  const auto& metadata = checkpoint.metadata();
  const auto loss = metadata.find("train_loss");
  if (loss != metadata.end()) result_.train_loss = parse_double(loss->second).value();
  for (const auto& [key, value] : metadata) {
    if (key.starts_with(kHookState)) hook_states_[key.substr(kHookState.size())] = value;
  }
}

void Run::initialize() {
  const Watchdog::Watch watch(watchdog_, "initializing");
  session_->initialize();
  if (!init_from_) return;
  const InitFrom& from = config_.init_from;
  try {
    const std::vector<std::string> taken = session_->restore_some(*init_from_, from);
    log_.line(fmt::format("from {}: {}", init_from_->path(), some_names(taken)));
  } catch (Error& e) {
    if (e.path().empty()) e.at("init_from");
    throw;
  }
  init_from_.reset();
}

void Run::begin_hooks() {
  began_at_ = save_began_at_ = steady_seconds();
  for (const auto& [name, slot] : config_.hooks) {
    const std::string path = "hooks." + name;
    hooks_.emplace_back(name, build_part(path, slot));
    try {
      hooks_.back().second->begin(step_info(step_, {}), hook_states_[name], requests_);
    } catch (Error& e) {
      e.prefix(path);
      throw;
    }
  }
}

void Run::open_summaries() {
  for (const auto& [name, slot] : config_.summaries) {
    summaries_.push_back(build_part("summaries." + name, slot));
    summaries_.back()->open(options_.dir, step_ + 1).value();
    summaries_.back()->write_text(step_, "config", config_text_).value();
  }
}

}  // namespace tenon
