// Which checkpoints of a run stay on disk.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/config/config.h"

namespace tenon {

// Which end of a metric is good.
enum class Best : uint8_t { lowest, highest };
TENON_ENUM(Best, lowest, highest)

// A checkpoint stays when any of these wants it.
struct KeepPolicy {
  // The newest, at least 1.
  int64_t last_n = 3;
  // Those whose step this divides; 0: none for that.
  int64_t every_n_steps = 0;
  // So many that are best by a metric, among those that have it.
  int64_t best_n = 0;
  std::string best_metric = "eval/loss";
  Best best = Best::lowest;
  void check(Checker& c) const;
  TENON_FIELDS(last_n, every_n_steps, best_n, best_metric, best)
  bool operator==(const KeepPolicy&) const = default;
};

// A checkpoint that was found good, and what `best_metric` was in it.
struct KeepCandidate {
  int64_t step = 0;
  std::optional<double> metric;
};

// The steps that no rule keeps, ascending. The newest candidate always stays; a metric that isn't a number is never
// among the best; of equal ones the later is better.
std::vector<int64_t> steps_to_remove(const KeepPolicy& policy, std::vector<KeepCandidate> candidates);

// Metrics as a checkpoint's metadata has them: "metric.eval/loss" = "2.25".
void put_metric(std::map<std::string, std::string>& metadata, const std::string& name, double value);
// None when it isn't there or isn't a number.
std::optional<double> get_metric(const std::map<std::string, std::string>& metadata, const std::string& name);
std::map<std::string, double> get_metrics(const std::map<std::string, std::string>& metadata);

}  // namespace tenon
