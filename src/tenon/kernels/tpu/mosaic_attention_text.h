// The text of attention kernels for TPUs.
#pragma once

#include "tenon/kernels/attention_math.h"

namespace tenon {

// The arrays that say where tokens are, as many as the mask needs: positions of queries and keys, segments of queries
// and keys.
struct PlaceArrays {
  bool positions = false, segments = false;
  explicit PlaceArrays(const AttentionKernel& a) : positions(a.causal || a.window > 0), segments(a.segments) {}
};

// Operands, in order; letters as in ir/ops/attention.h, x and y count blocks of M queries and of R keys. Arrays with
// one number a token are rows, as columns would take 128 times their size: lse and delta [B,N,1,T], places [B,1,T] and
// [B,1,S].
//   forward: first key block [B*x], end of key blocks [B*x], query, key, value, places -> context, lse
//   query gradient: key blocks as above, query, key, value, context_ct, lse, delta, places -> query_ct
//   key gradient: query blocks [B*y] twice, the rest the same -> key_ct, value_ct
// Each is a module of that name: "tenon_attention", "tenon_attention_query_gradient", "tenon_attention_key_gradient".
std::string mosaic_attention(const AttentionKernel& a);
std::string mosaic_attention_query_gradient(const AttentionKernel& a);
std::string mosaic_attention_key_gradient(const AttentionKernel& a);

}  // namespace tenon
