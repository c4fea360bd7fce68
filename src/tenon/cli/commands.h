// What each subcommand does, once its options are parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/cli/options.h"

namespace tenon {

struct TrainCommand {
  ExperimentOptions experiment;
  std::string dir, platform = "cpu", resume = "auto";
  std::optional<std::string> trap, profile;
};
void run_train(const TrainCommand& command);

struct GenerateCommand {
  std::string dir, prompt, platform = "cpu";
  int64_t max_tokens = 200, top_k = 0, seed = 0;
  double temperature = 1;
  std::vector<std::string> plugins;
};
void run_generate(const GenerateCommand& command);

struct AotCommand {
  ExperimentOptions experiment;
  std::string target;
};
// Throws `out_of_memory` after printing when the step doesn't fit.
void run_aot(const AotCommand& command);

}  // namespace tenon
