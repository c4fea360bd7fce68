#include "tenon/kernels/cuda/cudnn_attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tenon/base/text.h"
#include "tenon/ir/ops.h"
#include "tenon/kernels/attention_use.h"
#include "tenon/kernels/cuda/attention_chips.h"
#include "tenon/passes/splat.h"

namespace tenon {
namespace {

using Operands = const std::vector<Tensor>&;

constexpr int64_t kCudnnHeadDim = 128;  // of every chip cuDNN's flash attention knows

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

std::string refuse_cudnn(const KernelUse& use, int compute_capability) {
  const TensorType &q = use.operands[kQuery], &k = use.operands[kKey];
  const int64_t T = q.dims[2], S = k.dims[2], H = q.dims[3], window = use.attrs().integer("window");
  const bool causal = use.attrs().flag("causal");
  if (use.op.regions.size() > 1) return "the mask is a function it doesn't know";
  if (std::string old = refuse_before_ampere(compute_capability); !old.empty()) return old;
  if (q.dtype != DType::f16 && q.dtype != DType::bf16)
    return fmt::format("takes f16 and bf16, not {}", to_string(q.dtype));
  if (H % 8 != 0 || H > kCudnnHeadDim) return fmt::format("a head dim of {}", H);
  if (num_elements(q.dims) == 0 || S == 0) return "an array is empty";
  if (use.attrs().number("logit_cap") != 0) return "it has no logit_cap";
  if (use.attrs().flag("segments") && !one_segment(use)) return "rows may hold several segments";
  if (window != 0 && !causal) return "a window that isn't causal";
  const bool in_order = counts_places(operand(use, kQueryPositions)) && counts_places(operand(use, kKeyPositions));
  if (causal && (T != S || !in_order)) return "positions may differ from places in the row";
  return {};
}

std::string refuse_backward(const KernelUse& use, int compute_capability) {
  if (std::string reason = refuse_cudnn(use, compute_capability); !reason.empty()) return reason;
  const Literal* lse_ct = splat_constant(operand(use, kLseCt));
  return lse_ct != nullptr && lse_ct->as_double(0) == 0 ? "" : "lse has a gradient too";
}

// The dimensions a product sums over, of arrays [B,T,N,H], [B,S,N,H] and [B,N,T,S], with the two of the batch.
std::string product(int lhs, int rhs, std::pair<int, int> lhs_batch, std::pair<int, int> rhs_batch) {
  return fmt::format(R"({{"lhs_contracting_dimensions":["{}"],"rhs_contracting_dimensions":["{}"],)"
                     R"("lhs_batch_dimensions":["{}","{}"],"rhs_batch_dimensions":["{}","{}"]}})",
                     lhs, rhs, lhs_batch.first, lhs_batch.second, rhs_batch.first, rhs_batch.second);
}

std::string logits_shape(const KernelUse& use) {
  const TensorType& q = use.operands[kQuery];
  return fmt::format(R"({{"element_type":"{}","dimensions":["{}","{}","{}","{}"],)"
                     R"("layout":{{"minor_to_major":["3","2","1","0"]}},)"
                     R"("is_dynamic_dimension":[false,false,false,false]}})",
                     q.dtype == DType::bf16 ? "BF16" : "F16", q.dims[0], q.dims[1], q.dims[2],
                     use.operands[kKey].dims[2]);
}

// The message xla.gpu.GpuBackendConfig, as the JSON that XLA reads; `products` is its last members.
std::string config(const KernelUse& use, std::string_view products) {
  return fmt::format(
      R"({{"operation_queue_id":"0","cudnn_fmha_backend_config":{{)"
      R"("algorithm":{{"algo_id":"0","math_type":"TENSOR_OP_MATH","tuning_knobs":{{"17":"1","24":"0"}},)"
      R"("is_cudnn_frontend":true,"workspace_size":"0"}},)"
      R"("fmha_scale":{},"intermediate_tensor_shape":{},"is_flash_attention":true,"mask_type":"{}",)"
      R"("dropout_rate":0.0,"seed":42,"sliding_window_length":{},"max_seg_per_batch":1,"is_paged_attention":false,)"
      R"({}}}}})",
      format_float(use.attrs().number("scale")), logits_shape(use), use.attrs().flag("causal") ? "CAUSAL" : "NO_MASK",
      use.attrs().integer("window"), products);
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
std::vector<Tensor> call(const char* target, const std::string& config, Operands operands,
                         std::vector<TensorType> results) {
  std::vector<std::string> operand_layouts, result_layouts;
  for (const Tensor& t : operands) operand_layouts.push_back(layout(row_major(t.rank())));
  const size_t count = results.size();
  results.push_back({DType::u8, {0}});  // what cuDNN works in; XLA sizes it
  for (const TensorType& t : results)
    result_layouts.push_back(layout(t.rank() == 4 ? Dims{3, 1, 2, 0} : row_major(t.rank())));
  const std::string attributes =
      fmt::format("api_version = 2 : i32, backend_config = {}, operand_layouts = [{}], result_layouts = [{}]",
                  quoted_attribute(config), fmt::join(operand_layouts, ", "), fmt::join(result_layouts, ", "));
  std::vector<Tensor> out = custom_call({target, attributes}, operands, results);
  out.resize(count);
  return out;
}

Tensor tokens_first(const Tensor& heads) { return transpose(heads, {0, 2, 1, 3}); }

std::vector<Tensor> forward(const KernelUse& use, Operands t) {
  const std::string products = fmt::format(R"("bmm1_dot_dimension_numbers":{},"bmm2_dot_dimension_numbers":{})",
                                           product(3, 3, {0, 2}, {0, 2}),   // query, key
                                           product(3, 1, {0, 1}, {0, 2}));  // weights, value
  return call("__cudnn$fmhaSoftmax", config(use, products),
              {tokens_first(t[kQuery]), tokens_first(t[kKey]), tokens_first(t[kValue])}, use.results);
}

std::vector<Tensor> backward(const KernelUse& use, Operands t) {
  const std::string products =
      fmt::format(R"("bmm1_grad_gemm1_dot_dimension_numbers":{},"bmm1_grad_gemm2_dot_dimension_numbers":{},)"
                  R"("bmm2_grad_gemm1_dot_dimension_numbers":{},"bmm2_grad_gemm2_dot_dimension_numbers":{})",
                  product(2, 1, {0, 1}, {0, 2}),   // logits_ct, query
                  product(3, 1, {0, 1}, {0, 2}),   // logits_ct, key
                  product(2, 1, {0, 1}, {0, 2}),   // weights, context_ct
                  product(3, 3, {0, 2}, {0, 2}));  // context_ct, value
  return call("__cudnn$fmhaSoftmaxBackward", config(use, products),
              {tokens_first(t[kQuery]), tokens_first(t[kKey]), tokens_first(t[kValue]), t[kLse],
               tokens_first(t[kContextCt]), tokens_first(t[kContext])},
              use.results);
}

}  // namespace

KernelList cudnn_attention_kernels(int compute_capability) {
  constexpr std::string_view kTakes =
      "f16 and bf16; head dims to 128, in eights; no mask, causal, causal with a window; grouped queries; rows that "
      "are one document (`model.separate_documents=false`); no logit cap";
  return {{"attention", "cudnn_attention", [=](const KernelUse& use) { return refuse_cudnn(use, compute_capability); },
           forward, kTakes},
          {"attention_backward", "cudnn_attention",
           [=](const KernelUse& use) { return refuse_backward(use, compute_capability); }, backward, kTakes}};
}

}  // namespace tenon
