#include "tenon/nn/transformer/sequence.h"

#include "tenon/base/error.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/trace.h"

namespace tenon {

Tensor column_of(const Tensor& x, int64_t batch_size) {
  if (x.rank() == 0) return reshape(x, {1, 1});
  if (x.rank() == 1 && x.dim(0) == batch_size) return expand_dims(x, 1);
  throw Error(ErrorCode::shape_mismatch, "neither a scalar nor one number a row")
      .at(std::string(current_trace().path()))
      .got(to_string(x.type()))
      .expected("i32[] or i32[" + std::to_string(batch_size) + "]");
}

Tensor step_positions(const DecodeStep& step, int64_t batch_size, int64_t num_tokens) {
  return iota({DType::i32, {batch_size, num_tokens}}, 1) + column_of(step.start, batch_size);
}

Tensor token_at(const Tensor& x, const Tensor& index) {
  const int64_t B = x.dim(0), D = x.dim(2);
  if (index.rank() == 0) {
    const Tensor zero = zeros({DType::i32, {}});
    return squeeze(dynamic_slice(x, std::vector<Tensor>{zero, index, zero}, {B, 1, D}), 1);
  }
  const Tensor inside = maximum(index, zeros_like(index));
  const Tensor places = broadcast_to(expand_dims(column_of(inside, B), 2), {B, 1, D});
  return squeeze(take_along(x, places, 1), 1);
}

}  // namespace tenon
