// The bodies of the attention kernels: a scan over blocks of keys.
#pragma once

#include "tenon/ir/ops/attention.h"

namespace tenon {

// -> {context, lse}.
std::vector<Tensor> attention_body(const AttentionInputs& inputs, const AttentionOptions& options);

struct AttentionCotangents {
  Tensor context, lse;  // what the forward pass gave
  Tensor context_cotangent, lse_cotangent;
};
// -> cotangents of query, key and value.
std::vector<Tensor> attention_backward_body(const AttentionInputs& inputs, const AttentionOptions& options,
                                            const AttentionCotangents& cotangents);

}  // namespace tenon
