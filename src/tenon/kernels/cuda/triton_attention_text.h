// The text of attention kernels in Triton's dialect.
#pragma once

#include "tenon/kernels/attention_math.h"

namespace tenon {

// One kernel, called once for each program of the grid.
struct TritonKernel {
  std::string name, text;
  int64_t grid_x = 1, grid_y = 1, grid_z = 1;
  int64_t num_warps = 4, num_stages = 2;
};

// Arrays, in order. Letters as in ir/ops/attention.h; x and y count blocks of M queries and of R keys.
//   forward: query, key, value, query_positions, key_positions, query_segments, key_segments, first key block [B,x],
//            end of key blocks [B,x] -> context, lse
//   query gradient: query, key, value, context_ct, lse, delta, places and key blocks as above -> query_ct
//   key gradient: the same, with blocks of queries [B,y] -> key_ct, value_ct
TritonKernel triton_attention(const AttentionKernel& a);
TritonKernel triton_attention_query_gradient(const AttentionKernel& a);
TritonKernel triton_attention_key_gradient(const AttentionKernel& a);

}  // namespace tenon
