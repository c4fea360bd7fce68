// What each subcommand does, once its options are parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/cli/options.h"
#include "tenon/inference/generate_options.h"

namespace tenon {

struct TrainCommand {
  ExperimentOptions experiment;
  // A folder of text or of prepared data; none: what the experiment says.
  std::optional<std::string> data;
  DeviceOptions device;
  std::optional<std::string> dir;  // none: runs/EXPERIMENT
  std::string resume = "auto";
  std::optional<std::string> trap, profile;
  bool new_optimizer = false, dry_run = false, allow_replication = false;
};
void run_train(const TrainCommand& command);

struct GenerateCommand {
  DeviceOptions device;
  std::string dir, parameters = "trained";
  std::vector<std::string> prompts;  // none: an empty one
  int64_t num_samples = 1;           // of each
  GenerateOptions options;
  std::vector<std::string> assignments, plugins;
};
// One text is printed as it is made. Of several each has a line in front: "=== prompt 1, sample 2: 40 tokens".
void run_generate(const GenerateCommand& command);

}  // namespace tenon
