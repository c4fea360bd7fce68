#include "tenon/nn/attention/ring_attention.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/ops/attention_backward.h"
#include "tenon/ir/ops/custom_vjp.h"
#include "tenon/ir/ops/manual.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

Tensors list(const AttentionInputs& in) {
  return {in.query, in.key, in.value, in.query_positions, in.key_positions, in.query_segments, in.key_segments};
}
AttentionInputs inputs_of(const Tensors& t) { return {t[0], t[1], t[2], t[3], t[4], t[5], t[6]}; }

// What a device passes on, and its place in AttentionInputs.
Tensors keys_of(const AttentionInputs& in) { return {in.key, in.value, in.key_positions, in.key_segments}; }
AttentionInputs with_keys(const AttentionInputs& in, const Tensors& keys) {
  return {in.query, keys[0], keys[1], in.query_positions, keys[2], in.query_segments, keys[3]};
}

Tensor zeros_unless(const Tensor& x, const Tensor& like) { return x ? x : zeros_like(like); }

// Queries, keys and what both stand at are saved as they came; `backward` gets them, and what attention gave and was
// given back.
AttentionResult with_gradient(
    const AttentionInputs& mine, const std::function<AttentionResult(const AttentionInputs&)>& forward,
    const std::function<AttentionGradients(const AttentionInputs&, const AttentionPulled&)>& backward) {
  const CustomVjp rule{[forward](const Tensors& in) {
                         const AttentionResult r = forward(inputs_of(in));
                         Tensors saved = in;
                         saved.insert(saved.end(), {r.context, r.lse});
                         return CustomVjp::Forward{{r.context, r.lse}, std::move(saved)};
                       },
                       [backward](const Tensors& saved, const Tensors& cts) {
                         const Tensor &context = saved[7], &lse = saved[8];
                         const AttentionPulled pulled{context, lse, zeros_unless(cts[0], context),
                                                      zeros_unless(cts[1], lse)};
                         const AttentionGradients g = backward(inputs_of(saved), pulled);
                         return Tensors{g.query, g.key, g.value, {}, {}, {}, {}};
                       }};
  const Tensors out = custom_vjp(list(mine), rule);
  return {out[0], out[1]};
}

// ── parts of keys, put together ──

Tensor nothing_like(const Tensor& lse) { return full_like(lse, -std::numeric_limits<double>::infinity()); }

// Of disjoint keys; contexts in the dtype of lse.
AttentionResult merge(const AttentionResult& a, const AttentionResult& b) {
  const Tensor top = maximum(maximum(a.lse, b.lse), full_like(a.lse, -1e30));  // finite where neither saw a key
  const Tensor of_a = exp(a.lse - top), of_b = exp(b.lse - top), sum = of_a + of_b;
  const Tensor divisor = select(equal(sum, zeros_like(sum)), full_like(sum, 1), sum);
  const auto share = [&](const Tensor& x) { return expand_dims(x / divisor, 3); };
  return {a.context * share(of_a) + b.context * share(of_b), top + log(sum)};
}

Tensor choose(const Tensor& condition, const Tensor& yes, const Tensor& no) {
  return select(broadcast_to(condition, yes.dims()), yes, no);
}

Tensor joined(const Tensor& a, const Tensor& b, int64_t dim) { return concatenate(Tensors{a, b}, dim); }

// The first and the second half along T: of [B,N,T,H], [B,N,T] and [B,T].
struct Halves {
  Halves(const Tensor& x, int64_t dim)
      : first(slice_dim(x, dim, 0, x.dim(dim) / 2)), second(slice_dim(x, dim, x.dim(dim) / 2, x.dim(dim))) {}
  Tensor first, second;
};

// What a device in zigzag order looks at of another's keys. Its second queries, a late piece, see the other's first
// keys, an early one. Where the other device comes `earlier`, its first keys are seen by the first queries too; else
// its second keys are by the second queries. Nothing else is visible. The two products are one of twice the batch.
class ZigzagStep {
 public:
  explicit ZigzagStep(Tensor earlier) : earlier_(std::move(earlier)) {}

  AttentionResult attend(const AttentionInputs& in, const AttentionOptions& options) const {
    const AttentionResult both = attention(pair(in), options);
    const Tensor context = convert(both.context, both.lse.dtype());
    const AttentionResult late{part(context, 0), part(both.lse, 0)}, other{part(context, 1), part(both.lse, 1)};
    const Tensor none = zeros_like(other.context), unseen = nothing_like(other.lse);
    const AttentionResult first{choose(earlier_, other.context, none), choose(earlier_, other.lse, unseen)};
    const AttentionResult second =
        merge(late, {choose(earlier_, none, other.context), choose(earlier_, unseen, other.lse)});
    return {joined(first.context, second.context, 2), joined(first.lse, second.lse, 2)};
  }

  AttentionGradients gradients(const AttentionInputs& in, const AttentionPulled& pulled,
                               const AttentionOptions& options) const {
    const AttentionPulled of_pair{queries(pulled.context, 2), queries(pulled.lse, 2),
                                  queries(pulled.context_cotangent, 2), queries(pulled.lse_cotangent, 2)};
    const AttentionGradients both = attention_backward(pair(in), of_pair, options);
    return {of_queries(both.query), of_keys(both.key), of_keys(both.value)};
  }

 private:
  Tensor queries(const Tensor& x, int64_t dim) const {
    const Halves h(x, dim);
    return joined(h.second, choose(earlier_, h.first, h.second), 0);
  }
  Tensor keys(const Tensor& x, int64_t dim) const {
    const Halves h(x, dim);
    return joined(h.first, choose(earlier_, h.first, h.second), 0);
  }
  AttentionInputs pair(const AttentionInputs& in) const {
    return {queries(in.query, 2),           keys(in.key, 2),           keys(in.value, 2),
            queries(in.query_positions, 1), keys(in.key_positions, 1), queries(in.query_segments, 1),
            keys(in.key_segments, 1)};
  }
  static Tensor part(const Tensor& pair, int64_t i) {
    const int64_t size = pair.dim(0) / 2;
    return slice_dim(pair, 0, i * size, (i + 1) * size);
  }
  Tensor of_queries(const Tensor& pair) const {
    const Tensor late = part(pair, 0), other = part(pair, 1), none = zeros_like(other);
    return joined(choose(earlier_, other, none), late + choose(earlier_, none, other), 2);
  }
  Tensor of_keys(const Tensor& pair) const {
    const Tensor early = part(pair, 0), other = part(pair, 1), none = zeros_like(other);
    return joined(early + choose(earlier_, other, none), choose(earlier_, none, other), 2);
  }

  Tensor earlier_;  // i1
};

class Ring {
 public:
  Ring(const AttentionOptions& options, const SequenceSplit& split) : options_(options), split_(split) {}

  AttentionResult forward(const AttentionInputs& mine) const {
    const AttentionResult own = attention(mine, options_);
    const DType wide = own.lse.dtype();
    Tensors start{convert(own.context, wide), own.lse};
    for (const Tensor& t : keys_of(mine)) start.push_back(t);
    const Steps steps = steps_of(mine);
    const auto step = [&](const Tensor& index, const Tensors& carry) {
      const Tensors keys = pass({carry.begin() + 2, carry.end()}, 1);
      const AttentionResult here = attend(steps, index, with_keys(mine, keys));
      const AttentionResult all = merge({carry[0], carry[1]}, {convert(here.context, wide), here.lse});
      Tensors next{all.context, all.lse};
      next.insert(next.end(), keys.begin(), keys.end());
      return next;
    };
    const Tensors end = repeat(steps.count, start, step);
    return {convert(end[0], mine.query.dtype()), end[1]};
  }

  AttentionGradients backward(const AttentionInputs& mine, const AttentionPulled& pulled) const {
    const AttentionGradients own = attention_backward(mine, pulled, options_);
    const DType wide = pulled.lse.dtype();
    const auto widened = [&](const AttentionGradients& g) {
      return Tensors{convert(g.query, wide), convert(g.key, wide), convert(g.value, wide)};
    };
    Tensors start = widened(own);
    for (const Tensor& t : keys_of(mine)) start.push_back(t);
    const Steps steps = steps_of(mine);
    // Gradients of keys travel with them.
    const auto step = [&](const Tensor& index, const Tensors& carry) {
      Tensors next = pass({carry.begin() + 1, carry.end()}, 1);
      next.insert(next.begin(), carry[0]);
      const Tensors keys(next.begin() + 3, next.end());
      const Tensors here = widened(gradients(steps, index, with_keys(mine, keys), pulled));
      for (size_t i = 0; i < here.size(); ++i) next[i] = next[i] + here[i];
      return next;
    };
    const Tensors end = repeat(steps.count, start, step);
    const Tensors home = pass({end[1], end[2]}, -steps.count);
    const DType dtype = mine.query.dtype();
    return {convert(end[0], dtype), convert(home[0], dtype), convert(home[1], dtype)};
  }

 private:
  struct Steps {
    int64_t count = 0;
    bool zigzag = false;
    Tensor place;  // i32: of this device, when it matters
  };
  Steps steps_of(const AttentionInputs& mine) const {
    const bool zigzag = split_.zigzag && options_.pattern.causal && options_.pattern.segments;
    return {ring_steps(options_.pattern, split_, mine.key.dim(2)), zigzag, zigzag ? axis_index(axis()) : Tensor()};
  }
  // At step `index` (from 0) keys come from `index` + 1 devices before this one.
  static ZigzagStep zigzag_step(const Steps& steps, const Tensor& index) {
    return ZigzagStep(greater(steps.place, index));
  }
  AttentionResult attend(const Steps& steps, const Tensor& index, const AttentionInputs& in) const {
    return steps.zigzag ? zigzag_step(steps, index).attend(in, options_) : attention(in, options_);
  }
  AttentionGradients gradients(const Steps& steps, const Tensor& index, const AttentionInputs& in,
                               const AttentionPulled& pulled) const {
    return steps.zigzag ? zigzag_step(steps, index).gradients(in, pulled, options_)
                        : attention_backward(in, pulled, options_);
  }

  Axis axis() const { return Axis({split_.axis.c_str()}); }
  // `by` devices further.
  Tensors pass(const Tensors& xs, int64_t by) const {
    const int64_t n = split_.num_devices;
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (int64_t i = 0; i < n; ++i) pairs.emplace_back(i, ((i + by) % n + n) % n);
    Tensors out;
    for (const Tensor& x : xs) out.push_back(collective_permute(x, axis(), pairs));
    return out;
  }
  template <class F>
  static Tensors repeat(int64_t count, const Tensors& start, F step) {
    if (count == 0) return start;
    return scan([&](const Tensor& index, const Tensors& carry,
                    const Tensors&) { return std::pair<Tensors, Tensors>(step(index, carry), {}); },
                start, Tensors{}, count)
        .first;
  }

  const AttentionOptions& options_;
  const SequenceSplit& split_;
};

AttentionInputs gathered(const AttentionInputs& mine, const Axis& axis) {
  return with_keys(mine, {all_gather(mine.key, axis, 2), all_gather(mine.value, axis, 2),
                          all_gather(mine.key_positions, axis, 1), all_gather(mine.key_segments, axis, 1)});
}

}  // namespace

int64_t ring_steps(const MaskPattern& pattern, const SequenceSplit& split, int64_t tokens_per_device) {
  const int64_t all = split.num_devices - 1;
  if (split.zigzag || !pattern.causal || !pattern.segments || pattern.window == 0) return all;
  return std::min(all, (pattern.window - 1 + tokens_per_device - 1) / tokens_per_device);
}

AttentionResult gathered_attention(const AttentionInputs& mine, const AttentionOptions& options,
                                   const SequenceSplit& split) {
  const Axis axis({split.axis.c_str()});
  return with_gradient(
      mine, [=](const AttentionInputs& in) { return attention(gathered(in, axis), options); },
      [=](const AttentionInputs& in, const AttentionPulled& pulled) {
        const AttentionGradients g = attention_backward(gathered(in, axis), pulled, options);
        return AttentionGradients{g.query, reduce_scatter(g.key, axis, 2), reduce_scatter(g.value, axis, 2)};
      });
}

AttentionResult ring_attention(const AttentionInputs& mine, const AttentionOptions& options,
                               const SequenceSplit& split) {
  return with_gradient(
      mine, [=](const AttentionInputs& in) { return Ring(options, split).forward(in); },
      [=](const AttentionInputs& in, const AttentionPulled& pulled) {
        return Ring(options, split).backward(in, pulled);
      });
}

}  // namespace tenon
