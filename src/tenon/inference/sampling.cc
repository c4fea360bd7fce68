#include "tenon/inference/sampling.h"

#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/nn/basic/cumulative_sum.h"

namespace tenon {
namespace {

// Above any logit.
constexpr double kHuge = 3e38;

// Of logits in descending order, the least [B,1] that top_k and top_p keep of those not below `floor` [B,1].
Tensor least_of_top(const Tensor& sorted, const Tensor& floor, const SamplingNumbers& n) {
  const int64_t B = sorted.dim(0), V = sorted.dim(1);
  const Tensor all = full_like(n.top_k, static_cast<double>(V));
  const Tensor k = select(equal(n.top_k, zeros_like(n.top_k)), all, minimum(n.top_k, all));
  const std::vector<Tensor> at{zeros({DType::i32, {}}), convert(k - 1.0, DType::i32)};
  const Tensor least = broadcast_to(maximum(dynamic_slice(sorted, at, {B, 1}), floor), sorted.dims());

  const Tensor odds = exp(sorted - broadcast_to(slice_dim(sorted, 1, 0, 1), sorted.dims()));
  const Tensor kept = select(less(sorted, least), zeros_like(odds), odds);
  // A token stays when those before it don't have the probability together; with top_p = 1 all do.
  const Tensor sums = cumulative_sum(kept, 1);
  const Tensor needed = slice_dim(sums, 1, V - 1, V) * n.top_p;
  const Tensor stays = less(sums - kept, broadcast_to(needed, sums.dims()));
  const Tensor everything = broadcast_to(greater_equal(n.top_p, full_like(n.top_p, 1)), sums.dims());
  const Tensor in_top = logical_and(logical_or(stays, everything), greater_equal(sorted, least));
  return expand_dims(reduce_min(select(in_top, sorted, full_like(sorted, kHuge)), {1}), 1);
}

}  // namespace

SamplingNumbers::SamplingNumbers(const Tensor& packed) {
  int64_t next = 0;
  for (Tensor* number : {&temperature, &top_k, &top_p, &min_p, &repetition_penalty}) {
    *number = reshape(slice_dim(packed, 0, next, next + 1), {});
    ++next;
  }
}

Tensor penalize_repetition(const Tensor& logits, const Tensor& counts, const Tensor& penalty) {
  const Tensor zero = zeros_like(logits), r = broadcast_to(penalty, logits.dims());
  return select(equal(counts, zero), logits, select(greater(logits, zero), logits / r, logits * r));
}

Tensor keep_likely(const Tensor& scaled, const SamplingNumbers& n) {
  const Tensor floor = max_keep(scaled, {1}) + log(n.min_p);
  const Tensor by_rank = logical_or(greater(n.top_k, zeros_like(n.top_k)), less(n.top_p, full_like(n.top_p, 1)));
  const auto top = [&] { return std::vector<Tensor>{least_of_top(sort(scaled, 1, true), floor, n)}; };
  const Tensor least = cond(by_rank, top, [&] { return std::vector<Tensor>{floor}; })[0];
  return select(less(scaled, broadcast_to(least, scaled.dims())), full_like(scaled, kNeverSampled), scaled);
}

Tensor sample_token(const Tensor& logits, const SamplingNumbers& n, const Tensor& keys, const Tensor& position) {
  const int64_t B = logits.dim(0), V = logits.dim(1);
  const auto greedy = [&] { return std::vector<Tensor>{argmax(logits, 1)}; };
  const auto drawn = [&] {
    const Tensor uniform = random_uniform(fold_in(keys, broadcast_to(position, {B})), {V}, DType::f32);
    const Tensor noise = -log(-log(maximum(uniform, full_like(uniform, 1e-20))));
    const Tensor divisor = maximum(n.temperature, full_like(n.temperature, 1e-6));
    return std::vector<Tensor>{argmax(keep_likely(logits / divisor, n) + noise, 1)};
  };
  return cond(equal(n.temperature, zeros_like(n.temperature)), greedy, drawn)[0];
}

}  // namespace tenon
