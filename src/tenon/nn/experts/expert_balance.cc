#include "tenon/nn/experts/expert_balance.h"

#include "tenon/ir/ops.h"

namespace tenon {
namespace {

// i1 [..., E] for experts [...].
Tensor one_hot(const Tensor& experts, int64_t num_experts) {
  Dims dims = experts.dims();
  dims.push_back(num_experts);
  return equal(broadcast_to(expand_dims(experts, -1), dims),
               iota({DType::i32, dims}, static_cast<int64_t>(dims.size()) - 1));
}

}  // namespace

// Comparing and summing beats a gather, whose gradient is a scatter.
Tensor pick_experts(const Tensor& values, const Tensor& experts) {
  const Tensor chosen = one_hot(experts, values.dim(2));
  const Tensor spread = broadcast_to(expand_dims(values, 2), chosen.dims());
  return reduce_sum(select(chosen, spread, zeros_like(spread)), {-1});
}

Tensor expert_load(const Tensor& experts, int64_t num_experts) {
  const double even = static_cast<double>(experts.dim(1) * experts.dim(2)) / static_cast<double>(num_experts);
  return reduce_sum(convert(one_hot(experts, num_experts), DType::f32), {1, 2}) / even;
}

Tensor load_balance_loss(const Tensor& probabilities, const Tensor& load) {
  return reduce_sum(mean(probabilities, {1}) * convert(load, probabilities.dtype()), {1});
}

Tensor router_z_loss(const Tensor& logits) {
  const Tensor log_sum = log_sum_exp_keep(logits);
  return mean(log_sum * log_sum, {1, 2});
}

}  // namespace tenon
