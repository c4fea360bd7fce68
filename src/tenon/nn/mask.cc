#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/attention.h"

namespace tenon {

using MaskSignature = Tensor(const MaskArgs&);
TENON_FN_TYPE(CausalMask, MaskSignature, "keys at or before the query, in its segment")
TENON_FN_TYPE(SlidingWindowMask, MaskSignature,
              "keys at or less than `window` positions before the query, in its segment",
              {"window", "how many keys a query sees at most, itself included"})
TENON_FN_TYPE(SegmentMask, MaskSignature, "keys of the query's segment")

namespace {

// One i1 [B,T,S] from what each query and each key has.
template <class F>
Tensor compare(const Tensor& keys, const Tensor& queries, F f) {
  const Dims shape{queries.dim(0), queries.dim(1), keys.dim(1)};
  return f(broadcast_to(expand_dims(keys, 1), shape), broadcast_to(expand_dims(queries, 2), shape));
}

}  // namespace

Tensor SegmentMask::operator()(const MaskArgs& args) const {
  return compare(args.key_segments, args.query_segments, equal);
}

Tensor CausalMask::operator()(const MaskArgs& args) const {
  return logical_and(compare(args.key_positions, args.query_positions, less_equal), SegmentMask{}(args));
}

void SlidingWindowMask::check(Checker& c) const { c.positive("window", window); }

Tensor SlidingWindowMask::operator()(const MaskArgs& args) const {
  if (window < 1) {
    throw Error(ErrorCode::invalid_argument, "a sliding window of no keys")
        .at(std::string(current_trace().path()))
        .got(std::to_string(window));
  }
  const Tensor nearest_hidden = args.query_positions - static_cast<double>(window);
  return logical_and(compare(args.key_positions, nearest_hidden, greater), CausalMask{}(args));
}

std::optional<MaskPattern> mask_pattern(const Mask& mask) {
  if (mask.as<CausalMask>() != nullptr) return MaskPattern{.causal = true, .segments = true};
  if (mask.as<SegmentMask>() != nullptr) return MaskPattern{.segments = true};
  if (const auto* sliding = mask.as<SlidingWindowMask>(); sliding != nullptr && sliding->window > 0) {
    return MaskPattern{true, sliding->window, true};
  }
  return {};
}

}  // namespace tenon
