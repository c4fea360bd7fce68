// Where a run's numbers go.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tenon/base/result.h"

namespace tenon {

// Values by name: "train/loss", "eval/bits_per_byte".
using Scalars = std::map<std::string, double>;

class SummaryWriter {
 public:
  virtual ~SummaryWriter() = default;
  // The values after `step` steps. They have left the process when this returns.
  virtual Status write(int64_t step, const Scalars& scalars) = 0;
};

}  // namespace tenon
