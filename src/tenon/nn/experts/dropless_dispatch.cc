#include <algorithm>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/experts/dispatch.h"
#include "tenon/nn/experts/grouped_rows.h"

namespace tenon {

TENON_MODULE(DroplessDispatch, Dispatch, "drops nothing: tokens sorted by expert, in blocks of one expert each",
             {"block_size", "tokens of one expert that are multiplied at once"})

void DroplessDispatch::Config::check(Checker& c) const {
  c.positive("num_experts", num_experts);
  c.positive("block_size", block_size);
}

namespace {

// Of expert counts [1,E]: how many blocks each fills, and how many those before it do.
std::pair<Tensor, Tensor> whole_blocks(const Tensor& counts, int64_t block_size) {
  const int64_t E = counts.dim(1);
  const Tensor blocks =
      div(counts + static_cast<double>(block_size - 1), full_like(counts, static_cast<double>(block_size)));
  const TensorType square{DType::i32, {E, E}};
  const Tensor before = less(iota(square, 1), iota(square, 0));
  const Tensor all = broadcast_to(blocks, {E, E});
  return {blocks, reshape(reduce_sum(select(before, all, zeros_like(all)), {1}), {1, E})};
}

// The expert of each of M blocks: the one before whose end it lies; the last one's for blocks nobody fills.
Tensor expert_of_blocks(const Tensor& blocks, const Tensor& first_block, int64_t num_blocks) {
  const int64_t E = blocks.dim(1);
  const Dims table{num_blocks, E};
  const Tensor ended = less_equal(broadcast_to(first_block + blocks, table), iota({DType::i32, table}, 0));
  const Tensor expert = reduce_sum(convert(ended, DType::i32), {1});
  return minimum(expert, full_like(expert, static_cast<double>(E - 1)));
}

}  // namespace

Dispatched DroplessDispatch::dispatch(const Tensor& x, const Tensor& experts) const {
  const int64_t N = x.dim(0) * x.dim(1), D = x.dim(2), K = experts.dim(2), E = config_.num_experts;
  const int64_t A = N * K, R = std::min(config_.block_size, A), most = std::min(E, A);
  const int64_t M = (A - most) / R + most;  // the most blocks that A assignments can fill
  const Tensor expert_of = reshape(experts, {1, A});
  const GroupOrder by_expert = order_by_group(expert_of, E);
  const auto [blocks, first_block] = whole_blocks(by_expert.counts, R);
  const Tensor block_expert = expert_of_blocks(blocks, first_block, M);

  Dispatched out;
  out.place_of = take_along(first_block, expert_of, 1) * static_cast<double>(R) + by_expert.rank;
  // Place r of block m is assignment `nth` of the block's expert.
  const auto of_block = [&](const Tensor& of_expert) {
    return broadcast_to(expand_dims(take(reshape(of_expert, {E}), block_expert), 1), {M, R});
  };
  const TensorType places{DType::i32, {M, R}};
  const Tensor nth = (iota(places, 0) - of_block(first_block)) * static_cast<double>(R) + iota(places, 1);
  const Tensor sorted_place =
      reshape(clamp(of_block(by_expert.starts) + nth, 0, static_cast<double>(A - 1)), {1, M * R});
  const Tensor taken = take_along(by_expert.order, sorted_place, 1);
  const Tensor used = reshape(less(nth, of_block(by_expert.counts)), {1, M * R});
  out.assignment_of = select(used, taken, full_like(taken, static_cast<double>(A)));

  const Tensor row_of = div(out.assignment_of, full_like(out.assignment_of, static_cast<double>(K)));
  const Tensor rows = move_rows(reshape(x, {1, N, D}), row_of, reshape(out.place_of, {1, N, K}));
  out.tokens = tag(reshape(rows, {M, R, D}), "expert_tokens");
  out.product = [block_expert](const Tensor& tokens, const Tensor& weights) {
    return grouped_dot(tokens, weights, block_expert);
  };
  return out;
}

Tensor DroplessDispatch::combine(const Dispatched& dispatched, const Tensor& y, const Tensor& weights) const {
  return combine_rows(dispatched, reshape(y, {1, y.dim(0) * y.dim(1), y.dim(2)}), weights);
}

}  // namespace tenon
