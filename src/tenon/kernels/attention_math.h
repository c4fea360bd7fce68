// The arithmetic of attention on blocks of queries and keys, for kernels that are written as text.
//
// Blocks of logits are [rows, columns]: queries by keys, or keys by queries. What belongs to a row is [rows,1], to a
// column [1,columns]; reals but queries, keys, values and their cotangents are f32.
#pragma once

#include "tenon/kernels/block_builder.h"

namespace tenon {

// What kernels of one use have in common.
struct AttentionKernel {
  DType dtype = DType::f32;
  int64_t B = 0, N = 0, K = 0, T = 0, S = 0, H = 0;  // padded to whole blocks
  int64_t num_keys = 0;                              // S before padding
  int64_t M = 0, R = 0;                              // queries and keys of a block; T and S are multiples
  double scale = 1, logit_cap = 0;
  bool causal = false, segments = false;
  int64_t window = 0;

  int64_t query_blocks() const { return T / M; }
  int64_t key_blocks() const { return S / R; }
  int64_t group() const { return N / K; }  // queries' heads to one of keys
  // Whether a query sees all keys there are.
  bool sees_all() const { return !causal && !segments && window == 0 && num_keys == S; }
};

// i32, in rows or in columns. Those that the mask needs are set.
struct BlockPlaces {
  BlockValue query_positions, key_positions, query_segments, key_segments;
  BlockValue key_places;  // in the padded row
};

// Which of `dims` see each other; empty: all.
BlockValue visible(BlockBuilder& b, const AttentionKernel& a, const BlockPlaces& places, const Dims& dims);

// Of masked logits, and the largest before the first block; finite, so that differences of two are numbers.
inline constexpr double kFirstTop = -1e30;

// The sums that go from block to block of keys.
struct RunningSoftmax {
  BlockValue top;   // the largest logit so far [M,1]
  BlockValue sum;   // of exp(logit - top) [M,1]
  BlockValue rows;  // of exp(logit - top) times values [M,H]
};
// One more block of keys. Queries [M,H], keys and values [R,H].
RunningSoftmax next_block(BlockBuilder& b, const AttentionKernel& a, const BlockValue& query, const BlockValue& key,
                          const BlockValue& value, const BlockPlaces& places, const RunningSoftmax& before);
struct BlockResult {
  BlockValue context;  // [M,H], in the dtype of queries
  BlockValue lse;      // [M,1]
};
BlockResult finish(BlockBuilder& b, const AttentionKernel& a, const RunningSoftmax& sums);

// What the backward pass knows of each query, along the side where queries are.
struct QueryState {
  BlockValue lse;
  BlockValue delta;  // sum(context * its cotangent) - cotangent of lse
};
struct BlockWeights {
  BlockValue weights;  // of values
  BlockValue change;   // cotangents of the products of queries and keys
};
// Logits are `left` times the transpose of `right` (queries and keys, in either order), and cotangents of weights
// `left_ct` times that of `right_ct` (cotangents of the context and values).
BlockWeights weights_again(BlockBuilder& b, const AttentionKernel& a, const BlockValue& left, const BlockValue& right,
                           const BlockValue& left_ct, const BlockValue& right_ct, const BlockPlaces& places,
                           const QueryState& queries);

}  // namespace tenon
