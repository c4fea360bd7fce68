#include "tenon/trainer/kernel_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tenon {

void KernelConfig::check(Checker& c) const {
  const std::vector<std::string> known = kernel_ops();
  for (const std::string& name : disable) {
    c.require(std::find(known.begin(), known.end(), name) != known.end(), "disable",
              fmt::format("no platform has a kernel for '{}'; there are kernels for {}", name, fmt::join(known, ", ")));
  }
}

KernelList KernelConfig::allowed(const KernelList& all) const {
  KernelList out;
  for (const KernelImplementation& k : all) {
    if (std::find(disable.begin(), disable.end(), k.kernel) == disable.end()) out.push_back(k);
  }
  return out;
}

}  // namespace tenon
