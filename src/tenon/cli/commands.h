// What each subcommand does, once its options are parsed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/experiments/experiment.h"

namespace tenon {

struct ExperimentOptions {
  std::string experiment;
  std::vector<std::string> overlays, assignments, plugins;
};
// The experiment's config with overlay files, then assignments applied in order.
Trainer::Config resolve(const ExperimentOptions& options);

struct TrainCommand {
  ExperimentOptions experiment;
  std::string dir, platform = "cpu", resume = "auto";
};
void run_train(const TrainCommand& command);

struct GenerateCommand {
  std::string dir, prompt, platform = "cpu";
  int64_t max_tokens = 200, top_k = 0, seed = 0;
  double temperature = 1;
  std::vector<std::string> plugins;
};
void run_generate(const GenerateCommand& command);

void run_config_list();
void run_config_show(const ExperimentOptions& options);

}  // namespace tenon
