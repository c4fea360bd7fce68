// Attention as a kernel: exact, in blocks of keys, without an array of queries times keys.
//
// Letters: B batch, T queries, S keys, N heads, K key-value heads (N is a multiple of K), H head dim.
#pragma once

#include <functional>

#include "tenon/ir/kernel.h"

namespace tenon {

// Which keys a query sees, in a form that kernels know: the conditions that are set, all together. Positions and
// segments are those of AttentionInputs.
struct MaskPattern {
  bool causal = false;    // keys at or before the query's position
  int64_t window = 0;     // keys less than so many positions before the query's; 0: any
  bool segments = false;  // keys of the query's segment
  bool operator==(const MaskPattern&) const = default;
};

struct AttentionInputs {
  Tensor query;                           // [B,N,T,H]
  Tensor key, value;                      // [B,K,S,H]
  Tensor query_positions, key_positions;  // i32 [B,T], [B,S]
  Tensor query_segments, key_segments;    // i32 [B,T], [B,S]
};

// (query positions [B,T], key positions [B,S'], query segments, key segments) -> i1 [B,T,S'], for any number of keys.
// It may capture integers.
using MaskFunction = std::function<Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&)>;

struct AttentionOptions {
  double scale = 1;      // of the products of queries and keys
  double logit_cap = 0;  // above 0: logits x become cap * tanh(x / cap)
  MaskPattern pattern;
  MaskFunction mask;        // besides `pattern`; may be empty. Platforms' kernels refuse it, the body takes it.
  int64_t block = 512;      // keys the body looks at together
  PartitionSpec partition;  // mesh axes of the batch, of the heads
};

struct AttentionResult {
  Tensor context;  // [B,N,T,H], in the dtype of the query; 0 where a query sees no key
  Tensor lse;      // [B,N,T] log of the sum of exp(logits), in f32 (f64 for f64); -inf where a query sees no key
};

// softmax(scale * query key^T) value over the keys that a query sees. The softmax is in f32 or f64. Differentiable once
// in query, key and value. Throws `shape_mismatch`, `invalid_argument`.
// Blocks and the sums carried between them: Milakov & Gimelshein 2018; backward: Dao et al. 2022, algorithm 4.
AttentionResult attention(const AttentionInputs& inputs, const AttentionOptions& options);

}  // namespace tenon
