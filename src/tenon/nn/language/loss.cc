#include "tenon/nn/language/loss.h"

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_INTERFACE(TokenLoss, Module, "a loss of each token")
TENON_MODULE(CrossEntropy, TokenLoss, "-log softmax(logits)[label]")

LossSum CrossEntropy::forward(const Tensor& logits, const Tensor& labels) const {
  const DType wide_dtype = logits.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Tensor wide = convert(logits, wide_dtype);
  const int64_t vocab_size = wide.dim(-1);
  const Tensor live = greater_equal(labels, zeros_like(labels));
  const Tensor top = stop_gradient(max_keep(wide, {-1}));
  const Tensor shifted = wide - top;
  const Tensor log_sum = log(reduce_sum(exp(shifted), {-1}));
  const Tensor column = iota({DType::i32, wide.dims()}, wide.rank() - 1);
  const Tensor chosen = equal(column, broadcast_to(expand_dims(labels, -1), wide.dims()));
  const Tensor picked = reduce_sum(select(chosen, shifted, zeros_like(shifted)), {-1});
  const Tensor inside = less(labels, full_like(labels, static_cast<double>(vocab_size)));
  const Tensor loss = select(inside, log_sum - picked, full_like(log_sum, std::nan("")));
  const Tensor num_live = sum_all(convert(live, wide_dtype));
  if (!is_training()) {
    // The label's logit is the largest, or one of them.
    const Tensor none = zeros_like(picked);
    const Tensor right = select(live, select(inside, convert(equal(picked, none), wide_dtype), none), none);
    summary("accuracy", sum_all(right) / maximum(num_live, full_like(num_live, 1)), Merge::weighted_mean, num_live);
  }
  return {sum_all(select(live, loss, zeros_like(loss))), num_live};
}

}  // namespace tenon
