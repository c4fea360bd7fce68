// How evenly a router loads its experts, and losses that make it do so. Each is of one sequence, so that no way of
// splitting a batch changes it.
#pragma once

#include "tenon/ir/tensor.h"

namespace tenon {

// values [B,T,E], experts i32 [B,T,K] -> the values at those experts, [B,T,K].
Tensor pick_experts(const Tensor& values, const Tensor& experts);

// experts i32 [B,T,K] -> f32 [B,E]: how many of a sequence's T K choices fell on each expert, over what even loads
// would be, T K / E. No gradient.
Tensor expert_load(const Tensor& experts, int64_t num_experts);

// mean over experts of load * E * P, P the mean of an expert's probability over a sequence -> [B]: 1 for even loads
// (Fedus et al. 2021, "Switch Transformers", eq. 4 to 6; with several experts a token, DeepSeek-V3's eq. 17 to 20).
// Through P alone it has a gradient. probabilities [B,T,E], load [B,E].
Tensor load_balance_loss(const Tensor& probabilities, const Tensor& load);

// mean over a sequence's tokens of logsumexp(logits)^2 -> [B] (Zoph et al. 2022, "ST-MoE", eq. 5). logits [B,T,E].
Tensor router_z_loss(const Tensor& logits);

}  // namespace tenon
