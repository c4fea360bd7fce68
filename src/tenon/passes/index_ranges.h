// What i32 scalars of a program can be, as far as its text says.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "tenon/ir/trace.h"

namespace tenon {

// Both ends belong to it.
struct IndexRange {
  int64_t low, high;
};

class IndexRanges {
 public:
  explicit IndexRanges(Trace& trace) : trace_(trace) {}

  // Tells it of a scan, whose index runs over its length.
  void enter(const OpInfo& scan);
  // Follows constants, indices of scans that were entered, and arithmetic that can't overflow; what isn't known may be
  // any number of i32.
  IndexRange of(ValueId v);

 private:
  IndexRange from(const OpInfo& op);

  Trace& trace_;
  std::unordered_map<ValueId, IndexRange> known_;
};

}  // namespace tenon
