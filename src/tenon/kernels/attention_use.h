// A use of attention brought into the form of kernels that work on whole blocks.
#pragma once

#include "tenon/kernels/attention_math.h"
#include "tenon/passes/select_kernels.h"

namespace tenon {

// Places of the operands of `attention`, and of what `attention_backward` has besides.
enum AttentionOperand : size_t {
  kQuery,
  kKey,
  kValue,
  kQueryPositions,
  kKeyPositions,
  kQuerySegments,
  kKeySegments,
  kContext,
  kLse,
  kContextCt,
  kLseCt
};

// Sizes of a kernel for this use with blocks of M queries and R keys, lengths rounded up to whole blocks, and the head
// dim to `head_dim`.
AttentionKernel attention_kernel(const KernelUse& use, int64_t M, int64_t R, int64_t head_dim);

// Operands in the kernel's sizes. What is added: zeros, and for positions and segments the last one of the row again.
struct BlockOperands {
  Tensor query, key, value;                                             // [B,N,T,H], [B,K,S,H]
  Tensor query_positions, key_positions, query_segments, key_segments;  // [B,T], [B,S]
};
BlockOperands block_operands(const AttentionKernel& a, const std::vector<Tensor>& operands);
// Of attention_backward, besides.
struct BlockCotangents {
  Tensor context;     // [B,N,T,H]
  Tensor lse, delta;  // f32 [B,N,T]; delta: sum(context * its cotangent) - cotangent of lse
};
BlockCotangents block_cotangents(const AttentionKernel& a, const std::vector<Tensor>& operands);
// The part of a result that was asked for.
Tensor without_padding(const Tensor& x, const TensorType& type);

// A range of blocks, [first, end), for each block of the other side: i32 [B,blocks].
struct BlockRanges {
  Tensor first, end;
};
// Outside of them no query of a block sees a key of the other; found from the least and greatest position and segment
// of each block.
BlockRanges key_block_ranges(const AttentionKernel& a, const BlockOperands& operands);
BlockRanges query_block_ranges(const AttentionKernel& a, const BlockOperands& operands);

// "operand_layouts = […], result_layouts = […]", all row-major.
std::string row_major_layouts(const std::vector<Tensor>& operands, const std::vector<TensorType>& results);
// Text between quotes of an MLIR attribute.
std::string quoted_attribute(const std::string& text);

}  // namespace tenon
