// Names of metrics in configs.
#pragma once

#include <string>
#include <vector>

namespace tenon {

// Throws `unknown_name`, with the nearest ones, unless `metric` is one of `known`.
void require_metric(const std::string& metric, const std::vector<std::string>& known);

}  // namespace tenon
