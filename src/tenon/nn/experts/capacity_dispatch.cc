#include <algorithm>
#include <cmath>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/experts/dispatch.h"
#include "tenon/nn/experts/grouped_rows.h"

namespace tenon {

TENON_MODULE(CapacityDispatch, Dispatch, "each expert takes so many tokens of a sequence; those behind are dropped",
             {"capacity_factor", "what an expert takes, over its even share"},
             {"eval_capacity_factor", "outside of training; empty: nothing is dropped"},
             {"tokens_partition", "mesh axes of tokens [B, E * capacity, D] before they go to their expert's device"},
             {"experts_partition", "mesh axes of tokens [E, B, capacity, D] at their experts"})

void CapacityDispatch::Config::check(Checker& c) const {
  c.positive("num_experts", num_experts);
  c.positive("capacity_factor", capacity_factor);
  c.positive("eval_capacity_factor", eval_capacity_factor);
}

// A token's experts differ, so that no expert gets more than T.
int64_t CapacityDispatch::capacity(int64_t num_tokens, int64_t top_k) const {
  if (!is_training() && !config_.eval_capacity_factor) return num_tokens;
  const double factor = is_training() ? config_.capacity_factor : *config_.eval_capacity_factor;
  const double even = static_cast<double>(num_tokens * top_k) / static_cast<double>(config_.num_experts.value());
  const double most = std::ceil(std::min(factor * even, static_cast<double>(num_tokens)) - 1e-9);
  return std::max<int64_t>(1, static_cast<int64_t>(most));
}

Dispatched CapacityDispatch::dispatch(const Tensor& x, const Tensor& experts) const {
  const int64_t B = x.dim(0), T = x.dim(1), D = x.dim(2), K = experts.dim(2), E = config_.num_experts;
  const int64_t A = T * K, C = capacity(T, K);
  const Tensor expert_of = reshape(experts, {B, A});
  const GroupOrder by_expert = order_by_group(expert_of, E);

  Dispatched out;
  const Tensor kept = less(by_expert.rank, full_like(by_expert.rank, static_cast<double>(C)));
  out.place_of = select(kept, expert_of * static_cast<double>(C) + by_expert.rank,
                        full_like(expert_of, static_cast<double>(E * C)));
  const Tensor nth = iota({DType::i32, {B, E, C}}, 2);
  const Tensor sorted_place = reshape(expand_dims(by_expert.starts, 2) + nth, {B, E * C});
  const Tensor taken =
      take_along(by_expert.order, minimum(sorted_place, full_like(sorted_place, static_cast<double>(A - 1))), 1);
  const Tensor used = reshape(less(nth, broadcast_to(expand_dims(by_expert.counts, 2), nth.dims())), {B, E * C});
  out.assignment_of = select(used, taken, full_like(taken, static_cast<double>(A)));
  summary("dropped", 1.0 - mean(convert(kept, DType::f32), {0, 1}));

  const Tensor row_of = div(out.assignment_of, full_like(out.assignment_of, static_cast<double>(K)));
  const Tensor rows = move_rows(x, row_of, reshape(out.place_of, {B, T, K}));
  const Tensor apart = reshape(shard(rows, config_.tokens_partition), {B, E, C, D});
  out.tokens = tag(shard(transpose(apart, {1, 0, 2, 3}), config_.experts_partition), "expert_tokens");
  out.product = [](const Tensor& tokens, const Tensor& weights) {
    return dot_general(tokens, weights, {.lhs_batch = {0}, .rhs_batch = {0}, .lhs_contract = {3}, .rhs_contract = {1}});
  };
  return out;
}

Tensor CapacityDispatch::combine(const Dispatched& dispatched, const Tensor& y, const Tensor& weights) const {
  const Tensor apart = transpose(shard(y, config_.experts_partition), {1, 0, 2, 3});
  const Tensor rows = reshape(apart, {apart.dim(0), apart.dim(1) * apart.dim(2), apart.dim(3)});
  return combine_rows(dispatched, shard(rows, config_.tokens_partition), weights);
}

}  // namespace tenon
