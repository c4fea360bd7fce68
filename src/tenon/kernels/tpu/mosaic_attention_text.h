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

// Operands, in order; letters as in ir/ops/attention.h, x and y count blocks of M queries and of R keys. A token's
// place is a column (queries [B,T,1]) where blocks have its kind for rows, else a row (keys [B,1,S]).
//   forward: first key block [B*x], end of key blocks [B*x], query, key, value, places -> context, lse [B,N,T,1]
//   query gradient: key blocks as above, query, key, value, context_ct, lse [B,N,T,1], delta [B,N,T,1], places
//            -> query_ct
//   key gradient: query blocks [B*y] twice, query, key, value, context_ct, lse [B,N,1,T], delta [B,N,1,T], places with
//            keys for columns -> key_ct, value_ct
// Each is a module of that name: "tenon_attention", "tenon_attention_query_gradient", "tenon_attention_key_gradient".
std::string mosaic_attention(const AttentionKernel& a);
std::string mosaic_attention_query_gradient(const AttentionKernel& a);
std::string mosaic_attention_key_gradient(const AttentionKernel& a);

}  // namespace tenon
