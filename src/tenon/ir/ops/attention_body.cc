#include "tenon/ir/ops/attention_body.h"

#include <algorithm>
#include <cmath>

#include "tenon/ir/ops/contract.h"
#include "tenon/ir/ops/control.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/indexing.h"
#include "tenon/ir/ops/shape.h"

namespace tenon {
namespace {

constexpr double kMasked = -1e30;  // of logits; finite, so that differences of two are numbers

// What forward and backward share: queries as rows of their key head, and what a block of keys holds.
class Blocks {
 public:
  Blocks(const AttentionInputs& in, const AttentionOptions& options)
      : in_(in),
        options_(options),
        B(in.query.dim(0)),
        N(in.query.dim(1)),
        T(in.query.dim(2)),
        H(in.query.dim(3)),
        K(in.key.dim(1)),
        S(in.key.dim(2)),
        rows(N / K * T),
        wide(wide_dtype(in.query.dtype())),
        block(std::clamp<int64_t>(S, 1, options.block)),
        num_blocks(std::max<int64_t>((S + block - 1) / block, 1)),  // without keys: one of padding
        query(reshape(in.query, {B, K, rows, H})),
        key_(pad_keys(in.key, 2)),
        value_(pad_keys(in.value, 2)),
        positions_(pad_keys(in.key_positions, 1)),
        segments_(pad_keys(in.key_segments, 1)) {}

  struct Block {
    Tensor key, value;           // [B,K,block,H]
    Tensor positions, segments;  // [B,block]
    Tensor index;                // i32: of the block
  };
  Block at(const Tensor& index) const {
    const Tensor start = index * static_cast<double>(block), zero = zeros({DType::i32, {}});
    const std::vector<Tensor> of_rows{zero, zero, start, zero}, of_tokens{zero, start};
    return {dynamic_slice(key_, of_rows, {B, K, block, H}), dynamic_slice(value_, of_rows, {B, K, block, H}),
            dynamic_slice(positions_, of_tokens, {B, block}), dynamic_slice(segments_, of_tokens, {B, block}), index};
  }

  // Products of queries with the block's keys, scaled and capped, in `wide`: [B,K,rows,block].
  Tensor logits(const Block& b) const {
    const Tensor x = dot_general(query, b.key, {{0, 1}, {0, 1}, {3}, {3}}, wide) * options_.scale;
    return options_.logit_cap > 0 ? tanh(x * (1 / options_.logit_cap)) * options_.logit_cap : x;
  }

  // i1 [B,K,rows,block].
  Tensor visible(const Block& b) const {
    const Dims shape{B, T, block};
    const auto of_query = [&](const Tensor& t) { return broadcast_to(expand_dims(t, 2), shape); };
    const auto of_key = [&](const Tensor& t) { return broadcast_to(expand_dims(t, 1), shape); };
    Tensor out;
    const auto also = [&](const Tensor& condition) { out = out ? logical_and(out, condition) : condition; };
    const Tensor queries = of_query(in_.query_positions), keys = of_key(b.positions);
    if (options_.pattern.causal) also(less_equal(keys, queries));
    if (options_.pattern.window > 0) {
      also(greater(keys + static_cast<double>(options_.pattern.window), queries));
    }
    if (options_.pattern.segments) also(equal(of_query(in_.query_segments), of_key(b.segments)));
    if (options_.mask) also(options_.mask(in_.query_positions, b.positions, in_.query_segments, b.segments));
    if (num_blocks * block != S) {
      const Tensor place = iota({DType::i32, shape}, 2) + b.index * static_cast<double>(block);
      also(less(place, full_like(place, static_cast<double>(S))));
    }
    if (!out) out = full({DType::i1, shape}, 1);
    return reshape(broadcast_in_dim(out, {B, K, N / K, T, block}, {0, 3, 4}), {B, K, rows, block});
  }

  // [B,K,rows,block] x [B,K,block,H].
  Tensor times_keys(const Tensor& weights, const Tensor& keys) const {
    return dot_general(convert(weights, keys.dtype()), keys, {{0, 1}, {0, 1}, {3}, {2}}, wide);
  }
  // The transpose of [B,K,rows,block] x [B,K,rows,H]: [B,K,block,H].
  Tensor times_rows(const Tensor& weights, const Tensor& x) const {
    return dot_general(convert(weights, x.dtype()), x, {{0, 1}, {0, 1}, {2}, {2}}, wide);
  }
  // [num_blocks,B,K,block,H] -> [B,K,S,H].
  Tensor join(const Tensor& blocks) const {
    const Tensor padded = reshape(transpose(blocks, {1, 2, 0, 3, 4}), {B, K, num_blocks * block, H});
    return slice_dim(padded, 2, 0, S);
  }
  // [B,K,rows,1] for [B,N,T].
  Tensor column(const Tensor& x) const { return reshape(x, {B, K, rows, 1}); }

 private:
  Tensor pad_keys(const Tensor& x, size_t dim) const {
    if (num_blocks * block == S) return x;
    Dims low(x.dims().size(), 0), high = low;
    high[dim] = num_blocks * block - S;
    return pad(x, zeros({x.dtype(), {}}), low, high);
  }

  const AttentionInputs& in_;
  const AttentionOptions& options_;

 public:
  const int64_t B, N, T, H, K, S, rows;
  const DType wide;
  const int64_t block, num_blocks;
  const Tensor query;  // [B,K,rows,H]

 private:
  Tensor key_, value_, positions_, segments_;
};

// scan_op with a body that takes the index and the carry.
std::vector<Tensor> scan_blocks(
    int64_t length, const std::vector<Tensor>& init,
    const std::function<std::vector<Tensor>(const Tensor&, std::span<const Tensor>)>& body) {
  std::vector<TensorType> types{{DType::i32, {}}};
  for (const Tensor& t : init) types.push_back(t.type());
  const RegionId region = trace_region(current_trace(), types, [&](const std::vector<Tensor>& args) {
    return body(args[0], std::span(args).subspan(1));
  });
  return scan_op(region, length, init, {});
}

}  // namespace

std::vector<Tensor> attention_body(const AttentionInputs& inputs, const AttentionOptions& options) {
  const Blocks blocks(inputs, options);
  const TensorType column{blocks.wide, {blocks.B, blocks.K, blocks.rows, 1}};
  const TensorType rows{blocks.wide, {blocks.B, blocks.K, blocks.rows, blocks.H}};
  const std::vector<Tensor> init{full(column, kMasked), zeros(column), zeros(rows)};
  const auto step = [&](const Tensor& index, std::span<const Tensor> carry) -> std::vector<Tensor> {
    const Blocks::Block b = blocks.at(index);
    const Tensor logits = blocks.logits(b), visible = blocks.visible(b);
    const Tensor top = maximum(carry[0], max_keep(select(visible, logits, full_like(logits, kMasked)), {-1}));
    const Tensor weights = select(visible, exp(logits - top), zeros_like(logits)), rescale = exp(carry[0] - top);
    return {top, carry[1] * rescale + sum_keep(weights, {-1}),
            carry[2] * rescale + blocks.times_keys(weights, b.value)};
  };
  const std::vector<Tensor> end = scan_blocks(blocks.num_blocks, init, step);
  const Tensor nothing = equal(end[1], zeros_like(end[1]));
  const Tensor sum = select(nothing, full_like(end[1], 1), end[1]);
  return {convert(reshape(end[2] / sum, inputs.query.dims()), inputs.query.dtype()),
          reshape(end[0] + log(end[1]), {blocks.B, blocks.N, blocks.T})};
}

std::vector<Tensor> attention_backward_body(const AttentionInputs& inputs, const AttentionOptions& options,
                                            const AttentionCotangents& cts) {
  const Blocks blocks(inputs, options);
  const DType wide = blocks.wide;
  const Tensor ct = reshape(cts.context_cotangent, blocks.query.dims()), lse = blocks.column(cts.lse);
  const Tensor dot = sum_keep(convert(cts.context_cotangent, wide) * convert(cts.context, wide), {-1});
  const Tensor delta = blocks.column(dot) - blocks.column(cts.lse_cotangent);
  const std::vector<Tensor> init{zeros({wide, blocks.query.dims()})};
  const auto step = [&](const Tensor& index, std::span<const Tensor> carry) -> std::vector<Tensor> {
    const Blocks::Block b = blocks.at(index);
    const Tensor logits = blocks.logits(b);
    const Tensor weights = select(blocks.visible(b), exp(logits - lse), zeros_like(logits));
    Tensor change = weights * (dot_general(ct, b.value, {{0, 1}, {0, 1}, {3}, {3}}, wide) - delta) * options.scale;
    if (options.logit_cap > 0) {
      const Tensor share = logits * (1 / options.logit_cap);
      change = change * (1.0 - share * share);
    }
    return {carry[0] + blocks.times_keys(change, b.key), blocks.times_rows(change, blocks.query),
            blocks.times_rows(weights, ct)};
  };
  const std::vector<Tensor> end = scan_blocks(blocks.num_blocks, init, step);
  const DType dtype = inputs.query.dtype();
  return {convert(reshape(end[0], inputs.query.dims()), dtype), convert(blocks.join(end[1]), dtype),
          convert(blocks.join(end[2]), dtype)};
}

}  // namespace tenon
