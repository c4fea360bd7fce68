// A checkpoint's tensors as one safetensors file, for other programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/checkpoint/checkpoint.h"

namespace tenon {

// The tensors whose names match an expression as a whole, in order. Throws `invalid_argument` for one that matches
// nothing or is none.
std::vector<std::string> names_matching(const OpenedCheckpoint& checkpoint, const std::string& pattern);

struct ExportOptions {
  // Names that match this expression as a whole; empty: all that aren't the learner's ("learner.…").
  std::string tensors;
  // Floating-point tensors are converted, rounding to nearest even; none: as they are.
  std::optional<DType> dtype;
};
struct ExportReport {
  int64_t tensors = 0;
  uint64_t bytes = 0;
};

// Holds one tensor in memory at a time. `path` appears whole or not at all, with the metadata "tenon.step". Throws
// `invalid_argument` for an expression that matches nothing or is none, for a dtype that isn't a float, and for a
// finite value that the dtype can't hold; `io` when the file exists; and what reading and writing give.
ExportReport export_tensors(const OpenedCheckpoint& checkpoint, const std::string& path,
                            const ExportOptions& options = {});

}  // namespace tenon
