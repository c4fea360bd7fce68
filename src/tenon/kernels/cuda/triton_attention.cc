#include "tenon/kernels/cuda/triton_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tenon/ir/ops.h"
#include "tenon/kernels/attention_use.h"
#include "tenon/kernels/cuda/attention_chips.h"
#include "tenon/kernels/cuda/triton_attention_text.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

constexpr int64_t kFewestQueries = 16;  // rows of the smallest product on tensor cores
constexpr int64_t kTritonHeadDim = 256;
constexpr int64_t kLargestGrid = 65535;  // along y and z

std::string refuse_triton(const KernelUse& use, int compute_capability) {
  const TensorType &q = use.operands[kQuery], &k = use.operands[kKey];
  if (use.op.regions.size() > 1) return "the mask is a function it doesn't know";
  if (std::string old = refuse_before_ampere(compute_capability); !old.empty()) return old;
  if (q.dtype != DType::f32 && q.dtype != DType::f16 && q.dtype != DType::bf16)
    return fmt::format("takes f32, f16 and bf16, not {}", to_string(q.dtype));
  if (num_elements(q.dims) == 0 || k.dims[2] == 0) return "an array is empty";
  if (q.dims[3] > kTritonHeadDim) return fmt::format("a head dim of {}", q.dims[3]);
  if (q.dims[2] < kFewestQueries) return fmt::format("{} queries are too few to pay", q.dims[2]);
  if (q.dims[0] > kLargestGrid || q.dims[1] > kLargestGrid) return "more rows or heads than a grid has";
  return {};
}

// Powers of two, as blocks are; products on tensor cores need 16.
int64_t block_size(int64_t length, int64_t most) {
  return std::min(most, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(length, 16)))));
}

// Queries and keys of a block: what fits the registers of a program, and 99 KiB of shared memory.
struct BlockSizes {
  int64_t M, R;
};
BlockSizes block_sizes(bool f32, bool backward, int64_t H) {
  if (backward && f32) return H <= 128 ? BlockSizes{32, 32} : BlockSizes{16, 16};
  if (backward) return H <= 128 ? BlockSizes{64, 64} : BlockSizes{32, 32};
  if (f32) return H <= 64 ? BlockSizes{64, 32} : H <= 128 ? BlockSizes{32, 32} : BlockSizes{16, 16};
  return H <= 128 ? BlockSizes{128, 64} : BlockSizes{64, 32};
}

AttentionKernel sizes(const KernelUse& use, bool backward) {
  const TensorType& q = use.operands[kQuery];
  const int64_t H = block_size(q.dims[3], kTritonHeadDim);
  const auto [M, R] = block_sizes(q.dtype == DType::f32, backward, H);
  return attention_kernel(use, block_size(q.dims[2], M), block_size(use.operands[kKey].dims[2], R), H);
}

Tensors call(const TritonKernel& k, const Tensors& operands, const std::vector<TensorType>& results) {
  const std::string attributes = fmt::format(
      "api_version = 4 : i32, backend_config = {{name = \"{}\", ir = {}, num_stages = {} : i32, num_warps = {} : i32, "
      "grid_x = {} : i32, grid_y = {} : i32, grid_z = {} : i32}}, {}",
      k.name, quoted_attribute(k.text), k.num_stages, k.num_warps, k.grid_x, k.grid_y, k.grid_z,
      row_major_layouts(operands, results));
  return custom_call({"__gpu$xla.gpu.triton", attributes}, operands, results);
}

Tensors triton_forward(const KernelUse& use, const Tensors& operands) {
  const AttentionKernel a = sizes(use, false);
  const BlockOperands t = block_operands(a, operands);
  const BlockRanges keys = key_block_ranges(a, t);
  const Tensors out = call(triton_attention(a),
                           {t.query, t.key, t.value, t.query_positions, t.key_positions, t.query_segments,
                            t.key_segments, keys.first, keys.end},
                           {t.query.type(), {DType::f32, {a.B, a.N, a.T}}});
  return {without_padding(out[0], use.results[0]), without_padding(out[1], use.results[1])};
}

Tensors triton_backward(const KernelUse& use, const Tensors& operands) {
  const AttentionKernel a = sizes(use, true);
  const BlockOperands t = block_operands(a, operands);
  const BlockCotangents ct = block_cotangents(a, operands);
  const auto run = [&](const TritonKernel& kernel, const BlockRanges& blocks, const std::vector<TensorType>& results) {
    return call(kernel,
                {t.query, t.key, t.value, ct.context, ct.lse, ct.delta, t.query_positions, t.key_positions,
                 t.query_segments, t.key_segments, blocks.first, blocks.end},
                results);
  };
  const Tensors query = run(triton_attention_query_gradient(a), key_block_ranges(a, t), {t.query.type()});
  const Tensors keys = run(triton_attention_key_gradient(a), query_block_ranges(a, t), {t.key.type(), t.value.type()});
  return {without_padding(query[0], use.results[0]), without_padding(keys[0], use.results[1]),
          without_padding(keys[1], use.results[2])};
}

}  // namespace

KernelList triton_attention_kernels(int compute_capability) {
  const auto refused = [=](const KernelUse& use) { return refuse_triton(use, compute_capability); };
  constexpr std::string_view kTakes =
      "f32, f16 and bf16; any sizes up to head dims of 256; causal, sliding window and segments, skipping blocks that "
      "see none of each other; grouped queries; logit cap; gradients of lse; at least 16 queries";
  return {{"attention", "triton_attention", refused, triton_forward, kTakes},
          {"attention_backward", "triton_attention", refused, triton_backward, kTakes}};
}

}  // namespace tenon
