// Attention on the CPU, in blocks that stay in its caches.
#pragma once

#include <cstdint>

#include "tenon/kernels/cpu/parallel.h"

namespace tenon {

// Steps between neighbours along each dimension of a [B,N,T,H] array whose head dims lie side by side.
struct HeadStrides {
  int64_t batch, head, token;
};

enum class Element : uint8_t { f32, bf16 };

struct AttentionShape {
  int64_t B, N, K, T, S, H;
  Element element;          // of every [B,N,T,H] array
  HeadStrides query, key;   // of arrays like query and key
  double scale, logit_cap;  // logit_cap 0: none
  bool causal, segments;
  int64_t window;  // 0: none
};

// Where positions and segments are, [B,T] and [B,S].
struct AttentionPlaces {
  const int32_t *query_positions, *key_positions, *query_segments, *key_segments;
};

struct AttentionForward {
  const void *query, *key, *value;
  AttentionPlaces places;
  void* context;
  float* lse;  // [B,N,T]
};
struct AttentionBackward {
  const void *query, *key, *value;
  AttentionPlaces places;
  const void *context, *context_cotangent;
  const float *lse, *lse_cotangent;
  void *query_cotangent, *key_cotangent, *value_cotangent;
};

// As the op `attention` (ir/ops/attention.h). The same numbers whatever the number of workers.
void attention_forward(const AttentionShape& shape, const AttentionForward& arrays, const Workers& workers);
void attention_backward(const AttentionShape& shape, const AttentionBackward& arrays, const Workers& workers);

}  // namespace tenon
