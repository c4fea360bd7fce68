#include "tenon/checkpoint/keep_policy.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tenon/base/text.h"

namespace tenon {
namespace {

const std::string kMetric = "metric.";

}  // namespace

void KeepPolicy::check(Checker& c) const {
  c.positive("last_n", last_n);
  c.at_least("every_n_steps", every_n_steps, 0);
  c.at_least("best_n", best_n, 0);
  c.require(best_n == 0 || !best_metric.empty(), "best_metric", "must name a metric when best_n isn't 0");
}

std::vector<int64_t> steps_to_remove(const KeepPolicy& policy, std::vector<KeepCandidate> candidates) {
  const auto newest_first = [](const KeepCandidate& a, const KeepCandidate& b) { return a.step > b.step; };
  std::sort(candidates.begin(), candidates.end(), newest_first);
  std::set<int64_t> kept;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const bool last = static_cast<int64_t>(i) < std::max<int64_t>(policy.last_n, 1);
    const bool regular = policy.every_n_steps > 0 && candidates[i].step % policy.every_n_steps == 0;
    if (last || regular) kept.insert(candidates[i].step);
  }
  std::vector<KeepCandidate> ranked;
  for (const KeepCandidate& candidate : candidates) {
    if (candidate.metric && !std::isnan(*candidate.metric)) ranked.push_back(candidate);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [&](const KeepCandidate& a, const KeepCandidate& b) {
    return policy.best == Best::lowest ? *a.metric < *b.metric : *a.metric > *b.metric;
  });
  ranked.resize(std::min(ranked.size(), static_cast<size_t>(std::max<int64_t>(policy.best_n, 0))));
  for (const KeepCandidate& candidate : ranked) kept.insert(candidate.step);

  std::vector<int64_t> removed;
  for (auto candidate = candidates.rbegin(); candidate != candidates.rend(); ++candidate) {
    if (!kept.contains(candidate->step)) removed.push_back(candidate->step);
  }
  return removed;
}

void put_metric(std::map<std::string, std::string>& metadata, const std::string& name, double value) {
  metadata[kMetric + name] = format_float(value);
}

std::optional<double> get_metric(const std::map<std::string, std::string>& metadata, const std::string& name) {
  const auto found = metadata.find(kMetric + name);
  if (found == metadata.end()) return std::nullopt;
  const Result<double> value = parse_double(found->second);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

std::map<std::string, double> get_metrics(const std::map<std::string, std::string>& metadata) {
  std::map<std::string, double> out;
  for (const auto& [key, text] : metadata) {
    if (!key.starts_with(kMetric)) continue;
    const std::string name = key.substr(kMetric.size());
    if (const std::optional<double> value = get_metric(metadata, name)) out[name] = *value;
  }
  return out;
}

}  // namespace tenon
