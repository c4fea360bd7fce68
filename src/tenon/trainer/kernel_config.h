// Which kernels a run uses, as users write it: `kernels.disable = ["attention"]`.
#pragma once

#include <string>
#include <vector>

#include "tenon/config/config.h"
#include "tenon/kernels/kernels.h"

namespace tenon {

// `disable` names ops that are computed without the platform's kernels for them: kernel_ops().
struct KernelConfig {
  std::vector<std::string> disable;
  void check(Checker& c) const;
  TENON_FIELDS(disable)
  bool operator==(const KernelConfig&) const = default;

  // Those of `all` that may be used, in their order.
  KernelList allowed(const KernelList& all) const;
};

}  // namespace tenon
