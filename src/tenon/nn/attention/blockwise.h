// What the cores share that look at keys in blocks, by the kernel of ir/ops/attention.h.
#pragma once

#include <string_view>

#include "tenon/nn/attention/attention_core.h"

namespace tenon {

// Throws `unsupported` where such a core, `name`, is asked for weights of all queries and keys.
void require_blockwise(const AttentionCore::Config& config, std::string_view name);
// Options but for the partition. The mask must live as long as they do.
AttentionOptions blockwise_options(const Mask& mask, double scale, double logit_cap, int64_t block_size,
                                   const AttentionInputs& inputs);
AttentionInputs blockwise_inputs(const Qkv& qkv, const MaskArgs& args);
// The context, less the share that the sinks [N] take; they may be empty.
Tensor without_sinks(const AttentionResult& result, const Tensor& sinks);

}  // namespace tenon
