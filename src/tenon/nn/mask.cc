#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/attention.h"

namespace tenon {

using MaskSignature = Tensor(const MaskArgs&);
TENON_FN_TYPE(CausalMask, MaskSignature, "keys at or before the query, in its segment")

Tensor CausalMask::operator()(const MaskArgs& args) const {
  const Dims shape{args.query_positions.dim(0), args.query_positions.dim(1), args.key_positions.dim(1)};
  const auto rows = [&](const Tensor& t) { return broadcast_to(expand_dims(t, 2), shape); };
  const auto columns = [&](const Tensor& t) { return broadcast_to(expand_dims(t, 1), shape); };
  return logical_and(less_equal(columns(args.key_positions), rows(args.query_positions)),
                     equal(columns(args.key_segments), rows(args.query_segments)));
}

}  // namespace tenon
