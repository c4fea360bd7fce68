#include "tenon/experiments/experiment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tenon/base/text.h"
#include "tenon/config/modifiers.h"
#include "tenon/config/registry.h"
#include "tenon/data/register.h"
#include "tenon/experiments/austen.h"
#include "tenon/experiments/austen_objectives.h"
#include "tenon/experiments/digits.h"
#include "tenon/experiments/imagenet.h"
#include "tenon/experiments/llama.h"
#include "tenon/experiments/mamba2_lm.h"
#include "tenon/experiments/overlay_file.h"
#include "tenon/experiments/qwen3_moe.h"
#include "tenon/nn/register.h"
#include "tenon/optim/register.h"
#include "tenon/trainer/register.h"

namespace tenon {

namespace {

bool is_name(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !name.empty() && name.find_first_not_of(kAllowed) == std::string_view::npos && name.front() != '-' &&
         !is_overlay_file(name);
}

}  // namespace

void ExperimentRegistry::add(Experiment experiment) {
  const std::string name = experiment.name;
  if (!is_name(name)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("'{}' can't name an experiment", name))
        .expected("letters, digits, '_', '-' and '.', not ending in .toml");
  }
  if (!experiments_.try_emplace(name, std::move(experiment)).second) {
    throw Error(ErrorCode::invalid_argument, fmt::format("two experiments are named '{}'", name));
  }
}

const Experiment& ExperimentRegistry::find(std::string_view name) const {
  const auto it = experiments_.find(name);
  if (it != experiments_.end()) return it->second;
  std::vector<std::string> names;
  for (const auto& [known, experiment] : experiments_) names.push_back(known);
  const std::vector<std::string> nearest = nearest_names(name, names);
  throw Error(ErrorCode::unknown_name, fmt::format("there is no experiment '{}'", name))
      .hint(nearest.empty() ? "`tenon config list` shows all"
                            : fmt::format("did you mean {}?", fmt::join(nearest, ", ")));
}

std::vector<const Experiment*> ExperimentRegistry::all() const {
  std::vector<const Experiment*> out;
  for (const auto& [name, experiment] : experiments_) out.push_back(&experiment);
  return out;
}

ExperimentRegistry& ExperimentRegistry::global() {
  static ExperimentRegistry registry;
  return registry;
}

void register_experiments(ExperimentRegistry& registry) {
  register_austen(registry);
  register_austen_objectives(registry);
  register_digits(registry);
  register_imagenet(registry);
  register_llama(registry);
  register_mamba2_lm(registry);
  register_qwen3_moe(registry);
}

void register_everything(Registry& registry) {
  register_modifiers(registry);
  register_nn(registry);
  register_optim(registry);
  register_data(registry);
  register_trainer(registry);
  registry.add<Austen, AustenMlm, AustenDistill, AustenPairs, AustenSpans, Digits, ImageNetResNet, ImageNetViT, Llama,
               Mamba2Lm, Qwen3Moe>();
}

}  // namespace tenon
