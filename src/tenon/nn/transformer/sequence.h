// Where the tokens that a layer is given stand, and what else they may look at.
//
// Letters: B batch, T tokens, S tokens of the memory, M its width.
#pragma once

#include "tenon/autodiff/tree.h"

namespace tenon {

// What cross attention reads: the output of an encoder. Empty where there is none.
struct Memory {
  Tensor states;       // [B,S,M]
  Tensor positions;    // i32 [B,S]
  Tensor segment_ids;  // i32 [B,S]
  TENON_TREE(states, positions, segment_ids)
};

// Where the tokens of x [B,T,D] stand.
struct SequenceInfo {
  Tensor positions;    // i32 [B,T], within the segment
  Tensor segment_ids;  // i32 [B,T]; tokens see their own segment only
  Memory memory;
  TENON_TREE(positions, segment_ids, memory)
};

// The next tokens x [B,T,D] of sequences that are being written. Each is a scalar, or one a row.
struct DecodeStep {
  Tensor start;  // i32 [] or [B]: tokens before x
  // i32 [] or [B]: how many of x are there, 1 … T, one a row also 0; what is behind them is padding. A row without any
  // stays as it is, and what is computed for it means nothing.
  Tensor count;
  TENON_TREE(start, count)
};

// What a cache is made for.
struct CacheSizes {
  int64_t batch_size = 1;
  int64_t max_len = 1;     // tokens of the longest sequence
  int64_t memory_len = 0;  // tokens of the memory
};

// `x` (i32 [] or [B]) as a column that broadcasts against [B,T]. Throws `shape_mismatch`.
Tensor column_of(const Tensor& x, int64_t batch_size);
// i32 [B,T]: places of the tokens of a step in their sequences.
Tensor step_positions(const DecodeStep& step, int64_t batch_size, int64_t num_tokens);
// Of x [B,T,D] the token at `index` (i32 [] or [B]; below 0: the first) of each row: [B,D].
Tensor token_at(const Tensor& x, const Tensor& index);

}  // namespace tenon
