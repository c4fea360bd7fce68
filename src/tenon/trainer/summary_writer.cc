#include "tenon/trainer/summary_writer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/config/define.h"

namespace tenon {

TENON_INTERFACE(SummaryWriter, Configurable, "writes down the numbers of a run")

Histogram make_histogram(const std::vector<double>& values, int64_t buckets) {
  Histogram h;
  h.min = std::numeric_limits<double>::infinity();
  h.max = -h.min;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    h.min = std::min(h.min, value);
    h.max = std::max(h.max, value);
    ++h.count;
    h.sum += value;
    h.sum_of_squares += value * value;
  }
  if (h.count == 0) return {};
  if (h.min == h.max) buckets = 1;
  const double width = (h.max - h.min) / static_cast<double>(buckets);
  for (int64_t i = 1; i <= buckets; ++i) {
    h.limits.push_back(i == buckets ? h.max : h.min + width * static_cast<double>(i));
  }
  h.counts.assign(h.limits.size(), 0);
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    ++h.counts[static_cast<size_t>(std::lower_bound(h.limits.begin(), h.limits.end(), value) - h.limits.begin())];
  }
  return h;
}

}  // namespace tenon
