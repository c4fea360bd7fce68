// Which keys a query may see: functions of positions and segments, never arrays of a config.
//
// Letters: B batch, T queries, S keys.
#pragma once

#include <optional>
#include <vector>

#include "tenon/config/config.h"
#include "tenon/ir/ops/attention.h"

namespace tenon {

// What a mask sees: positions and segments of queries [B,T] and keys [B,S].
struct MaskArgs {
  Tensor query_positions, key_positions, query_segments, key_segments;
};
// -> i1 [B,T,S]: may the query see the key?
using Mask = Fn<Tensor(const MaskArgs&)>;

// Every key of the query's segment.
struct SegmentMask {
  TENON_FN()
  Tensor operator()(const MaskArgs& args) const;
};
// Keys at or before the query, in its segment.
struct CausalMask {
  TENON_FN()
  Tensor operator()(const MaskArgs& args) const;
};
// Of those, the `window` nearest: the query itself and what is less than `window` positions before it.
struct SlidingWindowMask {
  int64_t window = 1024;
  void check(Checker& c) const;
  TENON_FN(window)
  Tensor operator()(const MaskArgs& args) const;
};
// Keys at or before the query, or among the first `prefix` of its segment (Liu et al. 2018; "prefix LM").
struct PrefixMask {
  int64_t prefix = 128;
  void check(Checker& c) const;
  TENON_FN(prefix)
  Tensor operator()(const MaskArgs& args) const;
};
// Positions in blocks of `block`. A query of block i sees, in its segment, the keys of block j if |i - j| <
// local_blocks, or j < global_blocks, or the stride is above 0 and j is the last of a stride: j % stride == stride - 1.
// Local and strided: Child et al. 2019, section 4; global: Zaheer et al. 2020. Looks both ways: And{} it with
// CausalMask.
struct BlockSparseMask {
  int64_t block = 64, local_blocks = 1, global_blocks = 0, stride = 0;
  void check(Checker& c) const;
  TENON_FN(block, local_blocks, global_blocks, stride)
  Tensor operator()(const MaskArgs& args) const;
};
// Keys that all of `masks` let the query see.
struct AndMask {
  std::vector<Mask> masks = {};
  void check(Checker& c) const;
  TENON_FN(masks)
  Tensor operator()(const MaskArgs& args) const;
};
// Keys that one of `masks` lets the query see.
struct OrMask {
  std::vector<Mask> masks = {};
  void check(Checker& c) const;
  TENON_FN(masks)
  Tensor operator()(const MaskArgs& args) const;
};

// What attention kernels are told of a mask; empty for a mask they don't know, which they are given as a function.
std::optional<MaskPattern> mask_pattern(const Mask& mask);

}  // namespace tenon
