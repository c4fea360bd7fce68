#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/attention/attention_core.h"
#include "tenon/nn/attention/blockwise.h"

namespace tenon {

TENON_MODULE(FlashAttention, AttentionCore,
             "softmax(q k^T / sqrt(H)) v in blocks, by the platform's kernel if it has one",
             {"block_size", "keys looked at together where there is no kernel"},
             {"partition", "mesh axes of the batch and of the heads"})

FlashAttention::Config::Config() { mask = CausalMask{}; }

void FlashAttention::Config::check(Checker& c) const {
  c.positive("block_size", block_size);
  c.require(partition.dims().size() <= 2, "partition", "has an entry for the batch and one for the heads");
}

FlashAttention::FlashAttention(const Config& config)
    : AttentionCore(config),
      logit_cap_(config.logit_cap),
      block_size_(config.block_size),
      partition_(config.partition) {
  require_blockwise(config, "FlashAttention");
}

Tensor FlashAttention::forward(const Qkv& qkv, const MaskArgs& args) const {
  check_heads(qkv);
  const AttentionInputs inputs = blockwise_inputs(qkv, args);
  AttentionOptions options = blockwise_options(mask(), scale(), logit_cap_, block_size_, inputs);
  options.partition = partition_;
  const AttentionResult result = attention(inputs, options);
  return without_sinks(result, sink(result.lse.dtype()));
}

}  // namespace tenon
