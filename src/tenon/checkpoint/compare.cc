#include "tenon/checkpoint/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace tenon {
namespace {

double max_difference(const Literal& a, const Literal& b) {
  double most = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.as_double(i), y = b.as_double(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double difference = std::abs(x - y);
    if (std::isnan(difference)) return std::numeric_limits<double>::quiet_NaN();
    most = std::max(most, difference);
  }
  return most;
}

}  // namespace

CheckpointDifference compare(const OpenedCheckpoint& before, const OpenedCheckpoint& after, bool values) {
  CheckpointDifference out;
  const std::vector<std::string> names = after.names();
  const std::set<std::string> later(names.begin(), names.end());
  std::set<std::string> shared;
  for (const std::string& name : before.names()) {
    if (!later.contains(name)) {
      out.only_before.push_back(name);
      continue;
    }
    shared.insert(name);
    ChangedTensor changed{name, before.type(name).value(), after.type(name).value(), {}};
    if (changed.before != changed.after) {
      out.types.push_back(std::move(changed));
    } else if (before.checksum(name).value() == after.checksum(name).value()) {
      ++out.equal;
    } else {
      if (values) changed.max_difference = max_difference(before.read(name).value(), after.read(name).value());
      out.values.push_back(std::move(changed));
    }
  }
  for (const std::string& name : later) {
    if (!shared.contains(name)) out.only_after.push_back(name);
  }
  return out;
}

}  // namespace tenon
