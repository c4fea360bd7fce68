// Attention of a sequence that is split along T over the devices of a mesh axis, each of which has its piece of the
// queries, keys and values. In a manual region over the whole mesh.
#pragma once

#include <string>

#include "tenon/ir/ops/attention.h"

namespace tenon {

struct SequenceSplit {
  std::string axis;
  int64_t num_devices = 1;
  // Whether pieces are two each, as TokenOrder::zigzag lays them, rather than in order. Tokens of a segment stand in
  // the order of their positions either way. Padding, whose outputs nobody reads, needn't: what it sees isn't defined.
  bool zigzag = false;
};

// For the queries of this device, over the keys of all. Both are differentiable in query, key and value, keep nothing
// of other devices for the backward pass, and communicate again in it.
//
// Gathers all keys and values first, and sums up their gradients at the end (Llama 3, 2024, section 3.3.2).
AttentionResult gathered_attention(const AttentionInputs& mine, const AttentionOptions& options,
                                   const SequenceSplit& split);
// Passes keys and values around, from one device to the next, so that only one piece more is in memory (Liu et al.
// 2023). Where the mask is causal within segments, pieces in zigzag order cost half (Brandon et al. 2023 balance so),
// and a window of pieces in order is passed no further than it reaches. Contexts of pieces are added up in f32, each as
// the dtype of the query holds it.
AttentionResult ring_attention(const AttentionInputs& mine, const AttentionOptions& options,
                               const SequenceSplit& split);
// How many times keys are passed on.
int64_t ring_steps(const MaskPattern& pattern, const SequenceSplit& split, int64_t tokens_per_device);

}  // namespace tenon
