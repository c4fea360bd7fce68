// What differs between two checkpoints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/checkpoint/checkpoint.h"

namespace tenon {

struct ChangedTensor {
  std::string name;
  TensorType before, after;
  // Of the elements, when both have the same type; NaN when either has a NaN where the other has none.
  std::optional<double> max_difference;
};

struct CheckpointDifference {
  std::vector<std::string> only_before, only_after;
  std::vector<ChangedTensor> types;   // another shape or dtype
  std::vector<ChangedTensor> values;  // the same type and other bytes
  int64_t equal = 0;                  // tensors of the same type and CRC-32C
  bool same_tree() const { return only_before.empty() && only_after.empty() && types.empty(); }
};

// By names, types and checksums. With `values`, the tensors that differ are read, one of each at a time. Throws
// `damaged` when one of these isn't what was written.
CheckpointDifference compare(const OpenedCheckpoint& before, const OpenedCheckpoint& after, bool values);

}  // namespace tenon
