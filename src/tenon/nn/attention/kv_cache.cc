#include "tenon/nn/attention/kv_cache.h"

#include <algorithm>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_INTERFACE(KvCache, Module, "keys and values of the tokens so far",
                {"window", "positions a query looks back over, itself included; 0: all"})
TENON_MODULE(DenseKvCache, KvCache, "arrays of the longest sequence")
TENON_MODULE(SlidingKvCache, KvCache, "the last tokens alone, for a mask that is a sliding window")

namespace {

// Key and value behind a barrier: each write then has one use; otherwise XLA fuses it into every reader, and copies the
// cache for each.
template <class F>
Nest written(F write, const Nest& cache, const Qkv& qkv) {
  const auto one = [&](const char* name, const Tensor& x) {
    const Tensor& whole = cache.at(name);
    return write(whole, convert(x, whole.dtype()));
  };
  const std::vector<Tensor> out = optimization_barrier({one("key", qkv.key), one("value", qkv.value)});
  return {{"key", out[0]}, {"value", out[1]}};
}

// `update` [B,K,T,H] at places start… of `whole` [B,K,S,H].
Tensor write_at(const Tensor& whole, const Tensor& update, const Tensor& start) {
  const Tensor zero = zeros({DType::i32, {}});
  return dynamic_update_slice(whole, update, std::vector<Tensor>{zero, zero, start, zero});
}

// Token t of row b of `update` at place places[b, t] of `whole`, if there is one.
Tensor scatter_tokens(const Tensor& whole, const Tensor& update, const Tensor& places) {
  const GatherDims dims{{2, 3}, {2}, {0}, {0}, {2}};
  return scatter_set(whole, expand_dims(places, 2), transpose(update, {0, 2, 1, 3}), dims);
}

// 0 where `there` holds, else 1.
Tensor segments(const Tensor& there) { return convert(logical_not(there), DType::i32); }

Tensor spread(const Tensor& x, const Dims& shape) { return broadcast_to(x, shape); }

}  // namespace

Nest DenseKvCache::init(const TensorType& type) const { return {{"key", zeros(type)}, {"value", zeros(type)}}; }

CachedKeys DenseKvCache::update(const Nest& cache, const Qkv& qkv, const DecodeStep& step) const {
  const int64_t B = qkv.key.dim(0), T = qkv.key.dim(2);
  const auto write = [&](const Tensor& whole, const Tensor& x) {
    return step.start.rank() == 0 ? write_at(whole, x, step.start)
                                  : scatter_tokens(whole, x, step_positions(step, B, T));
  };
  CachedKeys out{written(write, cache, qkv), {}, {}, {}};
  const DType dtype = qkv.query.dtype();
  out.all = {qkv.query, convert(out.cache.at("key"), dtype), convert(out.cache.at("value"), dtype)};
  out.key_positions = iota({DType::i32, {B, out.all.key.dim(2)}}, 1);
  const Tensor end = column_of(step.start, B) + column_of(step.count, B);
  out.key_segments = segments(less(out.key_positions, spread(end, out.key_positions.dims())));
  return out;
}

SlidingKvCache::SlidingKvCache(const Config& config) : KvCache(config), window_(config.window) {
  if (window_ > 0) return;
  throw Error(ErrorCode::unsupported, "SlidingKvCache needs a mask that is a sliding window")
      .hint("use DenseKvCache, or the mask SlidingWindowMask");
}

Nest SlidingKvCache::init(const TensorType& type) const {
  TensorType ring = type;
  ring.dims.at(2) = std::min(type.dims.at(2), window_);
  return {{"key", zeros(ring)}, {"value", zeros(ring)}};
}

// With `end` tokens in all, place s holds the last token p < end with p = s mod R; a p below 0 is none.
// One token is written first and looks at the ring alone. More of them look at the ring as it was and at each other:
// those that the last ones push out are still seen by the first.
CachedKeys SlidingKvCache::update(const Nest& cache, const Qkv& qkv, const DecodeStep& step) const {
  const int64_t B = qkv.key.dim(0), T = qkv.key.dim(2), R = cache.at("key").dim(2);
  const auto size = static_cast<double>(R);
  const TensorType ring{DType::i32, {B, R}};
  const auto modulo = [&](const Tensor& x) {
    const Tensor r = full_like(x, size);
    return rem(rem(x, r) + r, r);
  };
  const auto held = [&](const Tensor& end) { return end - 1.0 - modulo(end - 1.0 - iota(ring, 1)); };
  const Tensor start = column_of(step.start, B), end = start + column_of(step.count, B);
  const Tensor before = spread(held(start), ring.dims), after = spread(held(end), ring.dims);
  const Tensor first = spread(start, ring.dims);
  const Tensor is_new = greater_equal(after, first);
  const Dims shape{B, qkv.key.dim(1), R, qkv.key.dim(3)};
  const auto write = [&](const Tensor& whole, const Tensor& x) {
    if (T == 1 && step.start.rank() == 0) return write_at(whole, x, modulo(step.start));
    const Tensor from = broadcast_in_dim(maximum(after - first, zeros_like(after)), shape, {0, 2});
    return select(broadcast_in_dim(is_new, shape, {0, 2}), take_along(x, from, 2), whole);
  };
  CachedKeys out{written(write, cache, qkv), {}, {}, {}};
  const DType dtype = qkv.query.dtype();
  if (T == 1) {
    out.all = {qkv.query, convert(out.cache.at("key"), dtype), convert(out.cache.at("value"), dtype)};
    out.key_positions = after;
    out.key_segments = segments(greater_equal(after, zeros_like(after)));
    return out;
  }
  const auto both = [](const Tensor& a, const Tensor& b, int64_t dim) { return concatenate(std::vector{a, b}, dim); };
  const Tensor fresh = step_positions(step, B, T);
  out.all = {qkv.query, both(convert(cache.at("key"), dtype), qkv.key, 2),
             both(convert(cache.at("value"), dtype), qkv.value, 2)};
  out.key_positions = both(before, fresh, 1);
  out.key_segments =
      segments(both(greater_equal(before, zeros_like(before)), less(fresh, spread(end, fresh.dims())), 1));
  return out;
}

}  // namespace tenon
