#include "tenon/nn/state_space/ssd.h"

#include <algorithm>
#include <limits>

#include "tenon/autodiff/functional.h"
#include "tenon/autodiff/remat.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/basic/cumulative_sum.h"

namespace tenon {
namespace {

// What of the inputs comes by token.
struct Tokens {
  Tensor x, b, c, dt, starts;
  TENON_TREE(x, b, c, dt, starts)
};

// Sums of log decays over the tokens of a chunk; -inf where a text starts in between.
struct Decays {
  Tensor within;  // [B,G,R,Q,Q]: from behind token s up to token l, at l, s; -inf for s > l
  Tensor from;    // [B,Q,G,R]: from the chunk's start up to and with the token
  Tensor to_end;  // [B,Q,G,R]: from behind the token to the chunk's end
};

Tensor where(const Tensor& mask, const Tensor& x, const Dims& mask_dims) {
  return select(broadcast_in_dim(mask, x.dims(), mask_dims), x, full_like(x, -std::numeric_limits<double>::infinity()));
}

Tensor last_of(const Tensor& x) { return slice_dim(x, 1, x.dim(1) - 1, x.dim(1)); }

// Behind a barrier: otherwise XLA fuses the sums into what is made of pairs of them, and does them again for each pair.
Tensor sums_apart(const Tensor& x) { return optimization_barrier({cumulative_sum(x, 1)})[0]; }

Decays decays_of(const Tensor& log_decay, const Tensor& starts) {
  const int64_t B = log_decay.dim(0), Q = log_decay.dim(1);
  const Tensor sums = sums_apart(log_decay), by_head = transpose(sums, {0, 2, 3, 1});
  const TensorType square{DType::i32, {Q, Q}};
  const Tensor at = iota(square, 0), from = iota(square, 1);
  Decays out{expand_dims(by_head, 4) - expand_dims(by_head, 3), sums, last_of(sums) - sums};
  if (!starts) {
    out.within = where(greater_equal(at, from), out.within, {3, 4});
    return out;
  }
  const Tensor texts = sums_apart(convert(starts, DType::i32));
  const auto spread = [&](const Tensor& x, const Dims& dims) { return broadcast_in_dim(x, {B, Q, Q}, dims); };
  const Tensor same_text = equal(spread(texts, {0, 1}), spread(texts, {0, 2}));
  out.within = where(logical_and(spread(greater_equal(at, from), {1, 2}), same_text), out.within, {0, 3, 4});
  out.from = where(equal(texts, zeros_like(texts)), out.from, {0, 1});
  out.to_end = where(equal(texts, broadcast_to(last_of(texts), texts.dims())), out.to_end, {0, 1});
  return out;
}

// `factor` [B,Q,G,R] times `x` [B,Q,G,R,P].
Tensor scaled(const Tensor& x, const Tensor& factor) { return x * expand_dims(factor, 4); }

// The tokens of one chunk (T = Q).
SsdOutputs chunk(const Tokens& in, const Tensor& a, const Tensor& d, const Tensor& state) {
  const DType dtype = in.x.dtype(), wide = state.dtype();
  const Decays decays = decays_of(in.dt * a, in.starts);
  const Tensor x = convert(in.x, wide), stepped = scaled(x, in.dt);

  const Tensor scores = dot_general(in.c, in.b, {{0, 2}, {0, 2}, {3}, {3}}, wide);  // [B,G,Q,Q]
  const Tensor weights = convert(expand_dims(scores, 2) * exp(decays.within), dtype);
  const DotDims by_source{{0, 1, 2}, {0, 2, 3}, {4}, {1}};
  const Tensor near = dot_general(weights, convert(stepped, dtype), by_source, wide);             // [B,G,R,Q,P]
  const Tensor far = dot_general(in.c, convert(state, dtype), {{0, 2}, {0, 1}, {3}, {2}}, wide);  // [B,G,Q,R,P]
  const Tensor y = transpose(near, {0, 3, 1, 2, 4}) + scaled(transpose(far, {0, 2, 1, 3, 4}), exp(decays.from)) +
                   x * expand_dims(d, 2);

  const Tensor kept = expand_dims(transpose(exp(last_of(decays.from)), {0, 2, 1, 3}), 4);  // [B,G,1,R,1]
  const Tensor arriving = convert(scaled(stepped, exp(decays.to_end)), dtype);
  const Tensor added = dot_general(in.b, arriving, {{0, 2}, {0, 2}, {1}, {1}}, wide);  // [B,G,N,R,P]
  return {state * kept + added, convert(y, dtype)};
}

// [B,T,…] as chunks [T/Q,B,Q,…], behind the last token zeros.
Tensor in_chunks(const Tensor& x, int64_t num_chunks, int64_t size) {
  Dims high(x.dims().size(), 0), split = x.dims(), order;
  high.at(1) = num_chunks * size - x.dim(1);
  split.at(1) = num_chunks;
  split.insert(split.begin() + 2, size);
  for (int64_t i = 0; i < static_cast<int64_t>(split.size()); ++i) order.push_back(i < 2 ? 1 - i : i);
  const Tensor padded = pad(x, zeros({x.dtype(), {}}), Dims(high.size(), 0), high);
  return transpose(reshape(padded, split), order);
}

}  // namespace

SsdOutputs ssd_scan(const SsdInputs& inputs, const Tensor& state, int64_t chunk_size) {
  const int64_t T = inputs.x.dim(1), Q = std::min(chunk_size, T), C = (T + Q - 1) / Q;
  Tokens tokens{inputs.x, inputs.b, inputs.c, inputs.dt, inputs.starts};
  if (C == 1) return chunk(tokens, inputs.a, inputs.d, state);
  for_each_tensor(tokens, [&](Tensor& t) { t = in_chunks(t, C, Q); });
  const auto step = [&](const Tensor&, const Tensor& before, const Tokens& some) {
    const RematScope scope{RematPolicy(SaveNothing{})};
    const SsdOutputs out = chunk(some, inputs.a, inputs.d, before);
    return std::pair(out.state, out.y);
  };
  const auto [last, ys] = scan(step, state, tokens);
  Dims joined = inputs.x.dims();
  joined.at(1) = C * Q;
  return {last, slice_dim(reshape(transpose(ys, {1, 0, 2, 3, 4, 5}), joined), 1, 0, T)};
}

SsdOutputs ssd_step(const SsdInputs& inputs, const Tensor& state) {
  const DType wide = state.dtype();
  const auto token = [&](const Tensor& t) { return convert(squeeze(t, 1), wide); };
  const Tensor x = token(inputs.x), b = token(inputs.b), c = token(inputs.c), dt = token(inputs.dt);
  const Tensor decay = expand_dims(expand_dims(exp(dt * inputs.a), 2), 4);  // [B,G,1,R,1]
  const Tensor stepped = x * expand_dims(dt, 3);                            // [B,G,R,P]
  const Tensor before =
      inputs.starts ? select(broadcast_in_dim(squeeze(inputs.starts, 1), state.dims(), {0}), zeros_like(state), state)
                    : state;
  const Tensor next = before * decay + expand_dims(expand_dims(b, 3), 4) * expand_dims(stepped, 2);
  const Tensor y = dot_general(c, next, {{0, 1}, {0, 1}, {2}, {2}}) + x * expand_dims(inputs.d, 2);
  return {next, expand_dims(convert(y, inputs.x.dtype()), 1)};
}

Tensor segment_starts(const Tensor& segment_ids) {
  const Tensor before = pad(segment_ids, zeros({segment_ids.dtype(), {}}), {0, 1}, {0, -1});
  return not_equal(segment_ids, before);
}

}  // namespace tenon
