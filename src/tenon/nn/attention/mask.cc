#include "tenon/nn/attention/mask.h"

#include <algorithm>
#include <limits>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"

namespace tenon {

using MaskSignature = Tensor(const MaskArgs&);
TENON_FN_TYPE(SegmentMask, MaskSignature, "keys of the query's segment")
TENON_FN_TYPE(CausalMask, MaskSignature, "keys at or before the query, in its segment")
TENON_FN_TYPE(SlidingWindowMask, MaskSignature,
              "keys at or less than `window` positions before the query, in its segment",
              {"window", "how many keys a query sees at most, itself included"})
TENON_FN_TYPE(PrefixMask, MaskSignature, "keys at or before the query or in the prefix of its segment",
              {"prefix", "tokens of a segment that all see each other"})
TENON_FN_TYPE(BlockSparseMask, MaskSignature, "keys of blocks that are near, global or at a stride, in its segment",
              {"block", "positions in a block"},
              {"local_blocks", "blocks j with |i - j| less than this are seen from block i"},
              {"global_blocks", "so many first blocks are seen by all"},
              {"stride", "above 0: the last block of every so many is seen by all"})
TENON_FN_TYPE(AndMask, MaskSignature, "keys that all of the masks let the query see")
TENON_FN_TYPE(OrMask, MaskSignature, "keys that one of the masks lets the query see")

namespace {

// One i1 [B,T,S] from what each query and each key has.
template <class F>
Tensor compare(const Tensor& keys, const Tensor& queries, F f) {
  const Dims shape{queries.dim(0), queries.dim(1), keys.dim(1)};
  return f(broadcast_to(expand_dims(keys, 1), shape), broadcast_to(expand_dims(queries, 2), shape));
}

// i1 [B,T,S] of keys for which `keep` (i1 [B,S]) holds.
Tensor of_keys(const Tensor& keep, const MaskArgs& args) {
  return broadcast_to(expand_dims(keep, 1), {args.query_positions.dim(0), args.query_positions.dim(1), keep.dim(1)});
}

Tensor at_or_before(const MaskArgs& args) { return compare(args.key_positions, args.query_positions, less_equal); }

void require_range(bool ok, const char* what, int64_t got) {
  if (ok) return;
  throw Error(ErrorCode::invalid_argument, what).at(std::string(current_trace().path())).got(std::to_string(got));
}

template <class F>
Tensor combine(const std::vector<Mask>& masks, const MaskArgs& args, F f) {
  require_range(!masks.empty(), "a combination of no masks", 0);
  Tensor out = masks[0](args);
  for (size_t i = 1; i < masks.size(); ++i) out = f(out, masks[i](args));
  return out;
}

}  // namespace

Tensor SegmentMask::operator()(const MaskArgs& args) const {
  return compare(args.key_segments, args.query_segments, equal);
}

Tensor CausalMask::operator()(const MaskArgs& args) const {
  return logical_and(at_or_before(args), SegmentMask{}(args));
}

namespace {

// A number of positions, which are i32.
void check_positions(Checker& c, std::string_view field, int64_t value, int64_t min) {
  c.at_least(field, value, min);
  c.at_most(field, value, std::numeric_limits<int32_t>::max());
}

}  // namespace

void SlidingWindowMask::check(Checker& c) const { check_positions(c, "window", window, 1); }

Tensor SlidingWindowMask::operator()(const MaskArgs& args) const {
  require_range(window > 0, "a sliding window of no keys", window);
  const Tensor nearest_hidden = args.query_positions - static_cast<double>(window);
  return logical_and(compare(args.key_positions, nearest_hidden, greater), CausalMask{}(args));
}

void PrefixMask::check(Checker& c) const { check_positions(c, "prefix", prefix, 0); }

Tensor PrefixMask::operator()(const MaskArgs& args) const {
  require_range(prefix >= 0, "a prefix of less than no tokens", prefix);
  const Tensor& keys = args.key_positions;
  const Tensor inside = of_keys(less(keys, full_like(keys, static_cast<double>(prefix))), args);
  return logical_and(logical_or(at_or_before(args), inside), SegmentMask{}(args));
}

void BlockSparseMask::check(Checker& c) const {
  check_positions(c, "block", block, 1);
  check_positions(c, "local_blocks", local_blocks, 0);
  check_positions(c, "global_blocks", global_blocks, 0);
  check_positions(c, "stride", stride, 0);
  c.require(local_blocks > 0 || global_blocks > 0 || stride > 0, "local_blocks", "or another must let blocks be seen");
}

Tensor BlockSparseMask::operator()(const MaskArgs& args) const {
  require_range(block > 0, "blocks of no positions", block);
  const auto blocks = [&](const Tensor& t) { return t / static_cast<double>(block); };
  const Tensor keys = blocks(args.key_positions), queries = blocks(args.query_positions);
  const Tensor apart = compare(keys, queries, [](const Tensor& k, const Tensor& q) { return abs(k - q); });
  Tensor seen = less(apart, full_like(apart, static_cast<double>(local_blocks)));
  if (global_blocks > 0) {
    seen = logical_or(seen, of_keys(less(keys, full_like(keys, static_cast<double>(global_blocks))), args));
  }
  if (stride > 0) {
    const Tensor place = rem(keys, full_like(keys, static_cast<double>(stride)));
    seen = logical_or(seen, of_keys(equal(place, full_like(keys, static_cast<double>(stride - 1))), args));
  }
  return logical_and(seen, SegmentMask{}(args));
}

void AndMask::check(Checker& c) const { c.require(!masks.empty(), "masks", "needs at least one mask"); }
Tensor AndMask::operator()(const MaskArgs& args) const { return combine(masks, args, logical_and); }
void OrMask::check(Checker& c) const { c.require(!masks.empty(), "masks", "needs at least one mask"); }
Tensor OrMask::operator()(const MaskArgs& args) const { return combine(masks, args, logical_or); }

std::optional<MaskPattern> mask_pattern(const Mask& mask) {
  if (mask.as<CausalMask>() != nullptr) return MaskPattern{.causal = true, .segments = true};
  if (mask.as<SegmentMask>() != nullptr) return MaskPattern{.segments = true};
  if (const auto* sliding = mask.as<SlidingWindowMask>(); sliding != nullptr && sliding->window > 0) {
    return MaskPattern{true, sliding->window, true};
  }
  const auto* all = mask.as<AndMask>();
  if (all == nullptr || all->masks.empty()) return {};
  MaskPattern out;
  for (const Mask& part : all->masks) {
    const std::optional<MaskPattern> one = mask_pattern(part);
    if (!one) return {};
    out.causal |= one->causal;
    out.segments |= one->segments;
    if (one->window > 0) out.window = out.window > 0 ? std::min(out.window, one->window) : one->window;
  }
  return out;
}

}  // namespace tenon
