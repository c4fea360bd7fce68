#include "tenon/kernels/tpu/mosaic_attention.h"

#include <fmt/format.h>

#include "tenon/ir/ops.h"
#include "tenon/kernels/attention_use.h"
#include "tenon/kernels/tpu/mosaic_attention_text.h"
#include "tenon/kernels/tpu/mosaic_builder.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

constexpr int64_t kMosaicHeadDim = 256;
constexpr int64_t kMostRanges = int64_t{1} << 15;  // in scalar memory, of which there is a megabyte

int64_t whole_lanes(int64_t length) { return (length + kLanes - 1) / kLanes * kLanes; }

std::string refuse_mosaic(const KernelUse& use) {
  const TensorType &q = use.operands[kQuery], &k = use.operands[kKey];
  if (use.op.regions.size() > 1) return "the mask is a function it doesn't know";
  if (q.dtype != DType::f32 && q.dtype != DType::bf16)
    return fmt::format("takes f32 and bf16, not {}", to_string(q.dtype));
  if (num_elements(q.dims) == 0 || k.dims[2] == 0) return "an array is empty";
  if (q.dims[3] > kMosaicHeadDim) return fmt::format("a head dim of {}", q.dims[3]);
  if (q.dims[2] < kLanes) return fmt::format("{} queries are too few to pay", q.dims[2]);
  if (k.dims[2] < kLanes) return fmt::format("{} keys are too few to pay", k.dims[2]);
  if (q.dims[0] * whole_lanes(std::max(q.dims[2], k.dims[2])) / kLanes > kMostRanges)
    return "the batch has more blocks than scalar memory holds";
  return {};
}

// The largest of 512, 256 and 128 that divides the length in whole lanes; less where rows are long, for the core's
// memory.
int64_t block_size(int64_t length, int64_t row_bytes) {
  int64_t block = row_bytes > 512 ? 256 : 512;
  while (whole_lanes(length) % block != 0) block /= 2;
  return block;
}
AttentionKernel sizes(const KernelUse& use) {
  const TensorType& q = use.operands[kQuery];
  const int64_t row_bytes = q.dims[3] * byte_size(q.dtype);
  return attention_kernel(use, block_size(q.dims[2], row_bytes), block_size(use.operands[kKey].dims[2], row_bytes),
                          q.dims[3]);
}

std::string base64(const std::string& text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < text.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = i; j < i + 3; ++j) bits = bits << 8 | (j < text.size() ? static_cast<unsigned char>(text[j]) : 0U);
    for (size_t j = 0; j < 4; ++j) out += i + j > text.size() ? '=' : kDigits[bits >> (18 - 6 * j) & 63];
  }
  return out;
}

// What the compiler's scheduler takes for the work of a kernel with so many products for each pair of blocks.
std::string cost_estimate(const AttentionKernel& a, int products, const Tensors& operands,
                          const std::vector<TensorType>& results) {
  const int64_t logits = a.B * a.N * a.T * a.S / (a.causal ? 2 : 1);
  int64_t bytes = 0;
  for (const Tensor& t : operands) bytes += byte_size(t.type());
  for (const TensorType& type : results) bytes += byte_size(type);
  return fmt::format(R"({{"flops": {}, "transcendentals": {}, "bytes_accessed": {}}})", 2 * products * logits * a.H,
                     logits, bytes);
}

struct Kernel {
  const char* name;
  std::string module;
  int products;  // of a pair of blocks
};

Tensors call(const AttentionKernel& a, const Kernel& k, const Tensors& operands,
             const std::vector<TensorType>& results) {
  const std::string config = fmt::format(
      R"({{"custom_call_config": {{"body": "{}", "cost_estimate": {}, "serialization_format": 1, "needs_layout_passes": true}}}})",
      base64(k.module), cost_estimate(a, k.products, operands, results));
  const std::string attributes = fmt::format("backend_config = {}, kernel_name = \"{}\", {}", quoted_attribute(config),
                                             k.name, row_major_layouts(operands, results));
  return custom_call({"tpu_custom_call", attributes}, operands, results);
}

// In the order that the kernels want: blocks to look at, query, key, value, `more`, then where tokens are.
Tensors arrays(const AttentionKernel& a, const BlockOperands& t, const BlockRanges& blocks, const Tensors& more) {
  Tensors out{reshape(blocks.first, {-1}), reshape(blocks.end, {-1}), t.query, t.key, t.value};
  out.insert(out.end(), more.begin(), more.end());
  const PlaceArrays needed(a);
  if (needed.positions) out.insert(out.end(), {expand_dims(t.query_positions, 1), expand_dims(t.key_positions, 1)});
  if (needed.segments) out.insert(out.end(), {expand_dims(t.query_segments, 1), expand_dims(t.key_segments, 1)});
  return out;
}

Tensors mosaic_forward(const KernelUse& use, const Tensors& operands) {
  const AttentionKernel a = sizes(use);
  const BlockOperands t = block_operands(a, operands);
  const Tensors out = call(a, {"tenon_attention", mosaic_attention(a), 2}, arrays(a, t, key_block_ranges(a, t), {}),
                           {t.query.type(), {DType::f32, {a.B, a.N, 1, a.T}}});
  return {without_padding(out[0], use.results[0]), without_padding(squeeze(out[1], 2), use.results[1])};
}

Tensors mosaic_backward(const KernelUse& use, const Tensors& operands) {
  const AttentionKernel a = sizes(use);
  const BlockOperands t = block_operands(a, operands);
  const BlockCotangents ct = block_cotangents(a, operands);
  const Tensors more{ct.context, expand_dims(ct.lse, 2), expand_dims(ct.delta, 2)};
  const Tensors query = call(a, {"tenon_attention_query_gradient", mosaic_attention_query_gradient(a), 3},
                             arrays(a, t, key_block_ranges(a, t), more), {t.query.type()});
  const Tensors keys = call(a, {"tenon_attention_key_gradient", mosaic_attention_key_gradient(a), 4},
                            arrays(a, t, query_block_ranges(a, t), more), {t.key.type(), t.value.type()});
  return {without_padding(query[0], use.results[0]), without_padding(keys[0], use.results[1]),
          without_padding(keys[1], use.results[2])};
}

}  // namespace

KernelList mosaic_attention_kernels() {
  constexpr std::string_view kTakes = "as `triton_attention`, in f32 and bf16; at least 128 queries and keys";
  return {{"attention", "mosaic_attention", refuse_mosaic, mosaic_forward, kTakes},
          {"attention_backward", "mosaic_attention", refuse_mosaic, mosaic_backward, kTakes}};
}

}  // namespace tenon
