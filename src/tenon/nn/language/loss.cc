#include "tenon/nn/language/loss.h"

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_INTERFACE(TokenLoss, Module, "a loss of each token")
TENON_MODULE(CrossEntropy, TokenLoss, "-log softmax(logits)[label]",
             {"label_smoothing", "in training, the part of the label's probability that all tokens share"},
             {"z_loss", "in training, times log(sum(exp(logits)))^2, which is added"})

void CrossEntropy::Config::check(Checker& c) const {
  check_interval(c, "label_smoothing", label_smoothing, '[', 0, 1, ')');
  check_not_negative(c, "z_loss", z_loss);
}

namespace {

// Of the tokens that count.
struct Live {
  Tensor mask;   // i1 [...]
  Tensor count;  // scalar
  Tensor sum(const Tensor& x) const { return sum_all(select(mask, x, zeros_like(x))); }
  void summarize(const char* name, const Tensor& total) const {
    summary(name, total / maximum(count, full_like(count, 1)), Merge::weighted_mean, count);
  }
};

}  // namespace

LossSum CrossEntropy::forward(const Tensor& logits, const Tensor& labels) const {
  const Tensor wide = widen(logits);
  const int64_t vocab_size = wide.dim(-1);
  const Tensor top = stop_gradient(max_keep(wide, {-1}));
  const Tensor shifted = wide - top;
  const Tensor log_sum = log(reduce_sum(exp(shifted), {-1}));
  const Tensor column = iota({DType::i32, wide.dims()}, wide.rank() - 1);
  const Tensor chosen = equal(column, broadcast_to(expand_dims(labels, -1), wide.dims()));
  const Tensor picked = reduce_sum(select(chosen, shifted, zeros_like(shifted)), {-1});
  const Tensor inside = less(labels, full_like(labels, static_cast<double>(vocab_size)));
  const Tensor plain = select(inside, log_sum - picked, full_like(log_sum, std::nan("")));
  Live live{greater_equal(labels, zeros_like(labels)), {}};
  live.count = sum_all(convert(live.mask, wide.dtype()));
  if (!is_training()) {
    // The label's logit is the largest, or one of them.
    const Tensor none = zeros_like(picked);
    live.summarize("accuracy", live.sum(select(inside, convert(equal(picked, none), wide.dtype()), none)));
    return {live.sum(plain), live.count};
  }
  Tensor loss = plain;
  if (label_smoothing_ > 0) {
    const Tensor all = log_sum - mean(shifted, {-1});
    loss = plain * (1 - label_smoothing_) + all * label_smoothing_;
  }
  if (z_loss_ > 0) {
    const Tensor log_z = log_sum + squeeze(top, -1);
    loss = loss + log_z * log_z * z_loss_;
  }
  if (loss.id() != plain.id()) live.summarize("cross_entropy", live.sum(plain));
  return {live.sum(loss), live.count};
}

Tensor live_tokens(const Tensor& labels) {
  return reduce_sum(convert(greater_equal(labels, zeros_like(labels)), DType::f32), {1});
}

}  // namespace tenon
