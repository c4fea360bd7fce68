// The backward pass of attention over part of the keys, for who puts attention together from such parts.
#pragma once

#include "tenon/ir/ops/attention.h"

namespace tenon {

// What attention over all keys gave, and what came back for it.
struct AttentionPulled {
  Tensor context, lse;                      // AttentionResult
  Tensor context_cotangent, lse_cotangent;  // of the same types
};
struct AttentionGradients {
  Tensor query, key, value;
};

// Cotangents of `inputs`, whose keys may be some of those that `pulled` is of: summed over disjoint parts, those of the
// queries are the whole's, and those of a part's keys and values are complete. `inputs` and `options` as for attention.
AttentionGradients attention_backward(const AttentionInputs& inputs, const AttentionPulled& pulled,
                                      const AttentionOptions& options);

}  // namespace tenon
