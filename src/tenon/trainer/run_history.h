// What directories tell of the runs in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/base/result.h"

namespace tenon {

struct RunStatus {
  std::string dir;
  // "running" while a process holds its lock; else "finished" when its last step is max_steps, and "stopped" when it
  // isn't.
  std::string state;
  int64_t step = 0;  // the last that was logged or saved
  std::optional<int64_t> max_steps, saved_step;
  std::optional<double> train_loss, eval_loss, accuracy, bits_per_byte;
};

// The run that `dir` is, or those of the directories in it and in these, by name. `not_found` when there is none.
Result<std::vector<RunStatus>> find_runs(const std::string& dir);
// A table; lines end with a newline.
std::string format_runs(const std::vector<RunStatus>& runs);

// The values of a metric by step, as metrics.jsonl has them ("nan" and infinities too). `unknown_name`, with the
// metrics there are, when it has none of these; `not_found`.
Result<std::vector<std::pair<double, double>>> read_metric(const std::string& dir, const std::string& name);

}  // namespace tenon
