// For tests: a small language model and batches for it.
#pragma once

#include "tenon/nn/language/causal_lm.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {

// Vocabulary 11, model_dim 8, 4 layers of 4 heads on 2 key-value heads, hidden_dim 12.
CausalLm::Config tiny_lm(StackForm form);
// Scanned layers, every other one with a mixture of 4 experts, whose router has both auxiliary losses.
CausalLm::Config tiny_mixture_lm();
MultiheadAttention::Config& attention_of(CausalLm::Config& config);

// Random tokens of packed documents: one row for each list of lengths, padded to the longest row.
Values packed_batch(const std::vector<std::vector<int64_t>>& lengths, int64_t vocab_size, int seed);

// "loss" (sum / weight), "grads.<path>", and what training collected.
Nest loss_and_gradients(const CausalLm& model, const Nest& state, const Nest& batch);
Values loss_and_gradients(const CausalLm& model, const Values& state, const Values& batch);

}  // namespace tenon
