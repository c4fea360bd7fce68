#include "tenon/nn/experts/grouped_rows.h"

#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"

namespace tenon {
namespace {

// Row rows[g,…] of x[g], zeros outside: [G,N,D], [G,S] -> [G,S,D].
Tensor rows_or_zero(const Tensor& x, const Tensor& rows) {
  const GatherDims dims{.window = {2}, .collapsed = {1}, .operand_batch = {0}, .index_batch = {0}, .index_map = {1}};
  const Tensor taken = gather(x, expand_dims(rows, 2), dims, {1, 1, x.dim(2)});
  const Tensor inside = less(rows, full_like(rows, static_cast<double>(x.dim(1))));
  return select(broadcast_to(expand_dims(inside, 2), taken.dims()), taken, zeros_like(taken));
}

Tensor matrix_of(const Tensor& weights, const Tensor& group) { return dynamic_index(weights, group); }

Tensor grouped_dot_forward(const Tensor& x, const Tensor& weights, const Tensor& groups) {
  const auto block = [&](const Tensor&, const std::vector<Tensor>&, const std::pair<Tensor, Tensor>& in) {
    return std::pair<std::vector<Tensor>, Tensor>({}, matmul(in.first, matrix_of(weights, in.second)));
  };
  return scan(block, std::vector<Tensor>{}, std::pair(x, groups)).second;
}

// Gradients of x and weights. A scan's own rule would add a whole [E,D,F] array for each block.
std::vector<Tensor> grouped_dot_backward(const Tensor& x, const Tensor& weights, const Tensor& groups,
                                         const Tensor& dy) {
  using Block = std::pair<std::pair<Tensor, Tensor>, Tensor>;
  const auto block = [&](const Tensor&, const Tensor& dweights, const Block& in) {
    const auto& [rows, group] = in;
    const Tensor dx =
        dot_general(rows.second, matrix_of(weights, group), {{}, {}, {1}, {1}});  // [R,F] x [D,F] -> [R,D]
    const Tensor part = dot_general(rows.first, rows.second, {{}, {}, {0}, {0}}, dweights.dtype());
    return std::pair(dynamic_update_index(dweights, dynamic_index(dweights, group) + part, group), dx);
  };
  const auto [dweights, dx] = scan(block, zeros({wide_dtype(weights.dtype()), weights.dims()}), Block{{x, dy}, groups});
  return {dx, convert(dweights, weights.dtype()), {}};
}

}  // namespace

Tensor move_rows(const Tensor& x, const Tensor& source, const Tensor& targets) {
  const CustomVjp rule{
      .forward =
          [](const std::vector<Tensor>& in) { return CustomVjp::Forward{{rows_or_zero(in[0], in[1])}, {in[2]}}; },
      .backward =
          [](const std::vector<Tensor>& kept, const std::vector<Tensor>& ct) {
            const int64_t G = kept[0].dim(0), N = kept[0].dim(1), K = kept[0].dim(2);
            const Tensor back = rows_or_zero(ct[0], reshape(kept[0], {G, N * K}));
            return std::vector<Tensor>{reduce_sum(reshape(back, {G, N, K, back.dim(2)}), {2}), {}, {}};
          }};
  return custom_vjp({x, source, targets}, rule).front();
}

Tensor grouped_dot(const Tensor& x, const Tensor& weights, const Tensor& groups) {
  const CustomVjp rule{
      .forward =
          [](const std::vector<Tensor>& in) {
            return CustomVjp::Forward{{grouped_dot_forward(in[0], in[1], in[2])}, in};
          },
      .backward = [](const std::vector<Tensor>& kept,
                     const std::vector<Tensor>& ct) { return grouped_dot_backward(kept[0], kept[1], kept[2], ct[0]); }};
  return custom_vjp({x, weights, groups}, rule).front();
}

// Counting by comparison fuses into one reduction; ranks come from a second sort, which costs less memory than sums
// over one-hot rows.
GroupOrder order_by_group(const Tensor& groups, int64_t num_groups) {
  const int64_t G = groups.dim(0), A = groups.dim(1);
  const Dims cube{G, A, num_groups};
  const Tensor spread = broadcast_to(expand_dims(groups, 2), cube), each = iota({DType::i32, cube}, 2);
  const auto count = [](const Tensor& which) { return reduce_sum(convert(which, DType::i32), {1}); };
  GroupOrder out;
  out.counts = count(equal(spread, each));
  out.starts = count(less(spread, each));
  const Tensor places = iota(groups.type(), 1);
  const std::vector<Tensor> sorted = sort_together(std::vector<Tensor>{groups, places}, 1);
  out.order = sorted[1];
  const Tensor rank = places - take_along(out.starts, sorted[0], 1);
  out.rank = sort_together(std::vector<Tensor>{out.order, rank}, 1)[1];
  return out;
}

}  // namespace tenon
