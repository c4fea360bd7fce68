#include "tenon/kernels/attention_math.h"

namespace tenon {
namespace {

// Products of rows of `left` and of `right`, scaled and capped.
BlockValue logits(BlockBuilder& b, const AttentionKernel& a, const BlockValue& left, const BlockValue& right) {
  const BlockValue products = b.dot_transposed(left, right);
  const BlockValue x = b.mul(products, b.like(products, a.scale));
  if (a.logit_cap == 0) return x;
  return b.mul(b.tanh(b.mul(x, b.like(x, 1 / a.logit_cap))), b.like(x, a.logit_cap));
}

}  // namespace

BlockValue visible(BlockBuilder& b, const AttentionKernel& a, const BlockPlaces& places, const Dims& dims) {
  const auto whole = [&](const BlockValue& x) { return b.broadcast(x, dims); };
  BlockValue out;
  if (a.causal) out = b.compare(Comparison::less_equal, whole(places.key_positions), whole(places.query_positions));
  if (a.window > 0) {
    const BlockValue& keys = places.key_positions;
    const BlockValue end = b.add(keys, b.like(keys, static_cast<double>(a.window)));
    out = b.both(out, b.compare(Comparison::greater, whole(end), whole(places.query_positions)));
  }
  if (a.segments)
    out = b.both(out, b.compare(Comparison::equal, whole(places.query_segments), whole(places.key_segments)));
  if (a.num_keys != a.S) {
    const BlockValue at = whole(places.key_places);
    out = b.both(out, b.compare(Comparison::less, at, b.like(at, static_cast<double>(a.num_keys))));
  }
  return out;
}

RunningSoftmax next_block(BlockBuilder& b, const AttentionKernel& a, const BlockValue& query, const BlockValue& key,
                          const BlockValue& value, const BlockPlaces& places, const RunningSoftmax& before) {
  const BlockValue x = logits(b, a, query, key);
  const BlockValue seen = visible(b, a, places, x.type.dims);
  const BlockValue masked = seen ? b.select(seen, x, b.like(x, kFirstTop)) : x;
  const BlockValue top = b.max(before.top, b.row_max(masked));
  BlockValue weights = b.exp(b.sub(x, b.broadcast(top, x.type.dims)));
  if (seen) weights = b.select(seen, weights, b.like(weights, 0));
  const BlockValue rescale = b.exp(b.sub(before.top, top));
  const BlockValue rows = b.mul(before.rows, b.broadcast(rescale, before.rows.type.dims));
  return {top, b.add(b.mul(before.sum, rescale), b.row_sum(weights)),
          b.dot(b.convert(weights, value.type.element), value, rows)};
}

BlockResult finish(BlockBuilder& b, const AttentionKernel& a, const RunningSoftmax& sums) {
  const BlockValue nothing = b.compare(Comparison::equal, sums.sum, b.like(sums.sum, 0));
  const BlockValue sum = b.select(nothing, b.like(sums.sum, 1), sums.sum);
  const BlockValue context = b.div(sums.rows, b.broadcast(sum, sums.rows.type.dims));
  return {b.convert(context, block_element(a.dtype)), b.add(sums.top, b.log(sums.sum))};
}

BlockWeights weights_again(BlockBuilder& b, const AttentionKernel& a, const BlockValue& left, const BlockValue& right,
                           const BlockValue& left_ct, const BlockValue& right_ct, const BlockPlaces& places,
                           const QueryState& queries) {
  const BlockValue x = logits(b, a, left, right);
  const Dims& dims = x.type.dims;
  const BlockValue seen = visible(b, a, places, dims);
  BlockValue weights = b.exp(b.sub(x, b.broadcast(queries.lse, dims)));
  if (seen) weights = b.select(seen, weights, b.like(weights, 0));
  const BlockValue from_context = b.sub(b.dot_transposed(left_ct, right_ct), b.broadcast(queries.delta, dims));
  BlockValue change = b.mul(b.mul(weights, from_context), b.like(x, a.scale));
  if (a.logit_cap > 0) {
    const BlockValue share = b.mul(x, b.like(x, 1 / a.logit_cap));
    change = b.mul(change, b.sub(b.like(x, 1), b.mul(share, share)));
  }
  return {weights, change};
}

}  // namespace tenon
