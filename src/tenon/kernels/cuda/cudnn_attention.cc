#include "tenon/kernels/cuda/cudnn_attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "tenon/base/text.h"
#include "tenon/ir/ops.h"
#include "tenon/kernels/attention_use.h"
#include "tenon/passes/splat.h"

namespace tenon {
namespace {

using Json = nlohmann::ordered_json;
using Operands = const std::vector<Tensor>&;

constexpr int64_t kLargestHeadDim = 128;  // of every chip cuDNN's flash attention knows
constexpr int kOldestChip = 80;           // Ampere

Tensor operand(const KernelUse& use, AttentionOperand at) { return use.trace.tensor(use.op.operands[at]); }

// i32 [B,T] of 0, 1, … T-1 in each row.
bool counts_places(const Tensor& positions) {
  const OpInfo* op = maker(positions, "iota");
  if (op != nullptr) return op->attrs.integer("dim") == 1;
  op = maker(positions, "broadcast_in_dim");
  if (op == nullptr) return false;
  const Tensor row = positions.trace()->tensor(op->operands[0]);
  return row.rank() == 1 && op->attrs.dims("dims") == Dims{1} && maker(row, "iota") != nullptr;
}

bool one_segment(const KernelUse& use) {
  const Literal* queries = splat_constant(operand(use, kQuerySegments));
  const Literal* keys = splat_constant(operand(use, kKeySegments));
  return queries != nullptr && keys != nullptr && *queries == *keys;
}

std::string refuse(const KernelUse& use, int compute_capability) {
  const TensorType &q = use.operands[kQuery], &k = use.operands[kKey];
  const int64_t T = q.dims[2], S = k.dims[2], H = q.dims[3], window = use.attrs().integer("window");
  const bool causal = use.attrs().flag("causal");
  if (use.op.regions.size() > 1) return "the mask is a function it doesn't know";
  if (compute_capability != 0 && compute_capability < kOldestChip)
    return fmt::format("takes compute capability 8.0 and above, not {}.{}", compute_capability / 10,
                       compute_capability % 10);
  if (q.dtype != DType::f16 && q.dtype != DType::bf16)
    return fmt::format("takes f16 and bf16, not {}", to_string(q.dtype));
  if (H % 8 != 0 || H > kLargestHeadDim) return fmt::format("a head dim of {}", H);
  if (num_elements(q.dims) == 0 || S == 0) return "an array is empty";
  if (use.attrs().number("logit_cap") != 0) return "it has no logit_cap";
  if (use.attrs().flag("segments") && !one_segment(use)) return "rows may hold several segments";
  if (window != 0 && !causal) return "a window that isn't causal";
  const bool in_order = counts_places(operand(use, kQueryPositions)) && counts_places(operand(use, kKeyPositions));
  if (causal && (T != S || !in_order)) return "positions may differ from places in the row";
  return {};
}

std::string refuse_backward(const KernelUse& use, int compute_capability) {
  if (std::string reason = refuse(use, compute_capability); !reason.empty()) return reason;
  const Literal* lse_ct = splat_constant(operand(use, kLseCt));
  return lse_ct != nullptr && lse_ct->as_double(0) == 0 ? "" : "lse has a gradient too";
}

// The dimensions a product sums over, of arrays [B,T,N,H], [B,S,N,H] and [B,N,T,S], with the two of the batch.
Json product(int lhs, int rhs, std::pair<int, int> lhs_batch, std::pair<int, int> rhs_batch) {
  const auto list = [](std::pair<int, int> dims) {
    return Json{std::to_string(dims.first), std::to_string(dims.second)};
  };
  return {{"lhs_contracting_dimensions", Json::array({std::to_string(lhs)})},
          {"rhs_contracting_dimensions", Json::array({std::to_string(rhs)})},
          {"lhs_batch_dimensions", list(lhs_batch)},
          {"rhs_batch_dimensions", list(rhs_batch)}};
}

Json logits_shape(const KernelUse& use) {
  const TensorType& q = use.operands[kQuery];
  Json dims = Json::array();
  for (const int64_t d : {q.dims[0], q.dims[1], q.dims[2], use.operands[kKey].dims[2]})
    dims.push_back(std::to_string(d));
  return {{"element_type", q.dtype == DType::bf16 ? "BF16" : "F16"},
          {"dimensions", dims},
          {"layout", {{"minor_to_major", {"3", "2", "1", "0"}}}},
          {"is_dynamic_dimension", {false, false, false, false}}};
}

// The message xla.gpu.GpuBackendConfig, as the JSON that XLA reads.
Json config(const KernelUse& use) {
  const bool causal = use.attrs().flag("causal");
  return {{"algorithm",
           {{"algo_id", "0"},
            {"math_type", "TENSOR_OP_MATH"},
            {"tuning_knobs", {{"17", "1"}, {"24", "0"}}},
            {"is_cudnn_frontend", true},
            {"workspace_size", "0"}}},
          {"fmha_scale", use.attrs().number("scale")},
          {"intermediate_tensor_shape", logits_shape(use)},
          {"is_flash_attention", true},
          {"mask_type", causal ? "CAUSAL" : "NO_MASK"},
          {"dropout_rate", 0.0},
          {"seed", 42},
          {"sliding_window_length", use.attrs().integer("window")},
          {"max_seg_per_batch", 1},
          {"is_paged_attention", false}};
}

std::string layout(const Dims& minor_to_major) {
  return fmt::format("dense<[{}]> : tensor<{}xindex>", fmt::join(minor_to_major, ", "), minor_to_major.size());
}
Dims row_major(int64_t rank) {
  Dims out;
  for (int64_t d = rank; d-- > 0;) out.push_back(d);
  return out;
}

// Calls `target`. Arrays [B,N,T,H] are given and taken with the heads of a token side by side.
std::vector<Tensor> call(const char* target, const Json& config, Operands operands, std::vector<TensorType> results) {
  const Json backend{{"operation_queue_id", "0"}, {"cudnn_fmha_backend_config", config}};
  std::vector<std::string> operand_layouts, result_layouts;
  for (const Tensor& t : operands) operand_layouts.push_back(layout(row_major(t.rank())));
  const size_t count = results.size();
  results.push_back({DType::u8, {0}});  // what cuDNN works in; XLA sizes it
  for (const TensorType& t : results)
    result_layouts.push_back(layout(t.rank() == 4 ? Dims{3, 1, 2, 0} : row_major(t.rank())));
  const std::string attributes =
      fmt::format("api_version = 2 : i32, backend_config = {}, operand_layouts = [{}], result_layouts = [{}]",
                  quoted_attribute(backend.dump()), fmt::join(operand_layouts, ", "), fmt::join(result_layouts, ", "));
  std::vector<Tensor> out = custom_call({target, attributes}, operands, results);
  out.resize(count);
  return out;
}

Tensor tokens_first(const Tensor& heads) { return transpose(heads, {0, 2, 1, 3}); }

std::vector<Tensor> forward(const KernelUse& use, Operands t) {
  Json c = config(use);
  c["bmm1_dot_dimension_numbers"] = product(3, 3, {0, 2}, {0, 2});  // query, key
  c["bmm2_dot_dimension_numbers"] = product(3, 1, {0, 1}, {0, 2});  // weights, value
  return call("__cudnn$fmhaSoftmax", c, {tokens_first(t[kQuery]), tokens_first(t[kKey]), tokens_first(t[kValue])},
              use.results);
}

std::vector<Tensor> backward(const KernelUse& use, Operands t) {
  Json c = config(use);
  c["bmm1_grad_gemm1_dot_dimension_numbers"] = product(2, 1, {0, 1}, {0, 2});  // logits_ct, query
  c["bmm1_grad_gemm2_dot_dimension_numbers"] = product(3, 1, {0, 1}, {0, 2});  // logits_ct, key
  c["bmm2_grad_gemm1_dot_dimension_numbers"] = product(2, 1, {0, 1}, {0, 2});  // weights, context_ct
  c["bmm2_grad_gemm2_dot_dimension_numbers"] = product(3, 3, {0, 2}, {0, 2});  // context_ct, value
  return call("__cudnn$fmhaSoftmaxBackward", c,
              {tokens_first(t[kQuery]), tokens_first(t[kKey]), tokens_first(t[kValue]), t[kLse],
               tokens_first(t[kContextCt]), tokens_first(t[kContext])},
              use.results);
}

}  // namespace

KernelList cudnn_attention_kernels(int compute_capability) {
  return {
      {"attention", "cudnn_attention", [=](const KernelUse& use) { return refuse(use, compute_capability); }, forward},
      {"attention_backward", "cudnn_attention",
       [=](const KernelUse& use) { return refuse_backward(use, compute_capability); }, backward}};
}

}  // namespace tenon
