// Llama 1, 2 and 3 as published.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenon/experiments/experiment.h"

namespace tenon {

struct Llama {
  int64_t num_layers = 32, model_dim = 4096, num_heads = 32;
  std::optional<int64_t> num_kv_heads = {};  // empty: num_heads
  int64_t hidden_dim = 11008;
  int64_t vocab_size = 32000;
  double rope_theta = 10000, norm_eps = 1e-5, adam_eps = 1e-8;
  int64_t batch_size = 1024, sequence_length = 4096;
  int64_t train_tokens = 2'000'000'000'000;
  double peak_learning_rate = 3e-4, final_learning_rate_ratio = 0.1;
  int64_t warmup_steps = 2000;
  // Whether tokens see their own document only, or all of their row.
  bool separate_documents = true;
  // Pieces in which logits are made.
  int64_t loss_chunks = 8;
  // Devices that share the parameters; -1: all.
  int64_t fsdp = 8;
  std::string data_path = "data/text";
  // Prepared data to train on in place of data_path.
  std::string data = {};
  void check(Checker& c) const;
  TENON_FN(num_layers, model_dim, num_heads, num_kv_heads, hidden_dim, vocab_size, rope_theta, norm_eps, adam_eps,
           batch_size, sequence_length, train_tokens, peak_learning_rate, final_learning_rate_ratio, warmup_steps,
           separate_documents, loss_chunks, fsdp, data_path, data)
  // max_steps is what train_tokens are in whole batches, rounded up.
  Trainer::Config operator()() const;
};

// llama1_7b … llama3_405b and a test size of each, and llama_134m; of the published sizes "-single_host": all tokens in
// smaller batches, for eight devices; and of each of these "-fp8", whose decoder multiplies in 8-bit floats, and
// "-flash", whose attention stays FlashAttention whatever becomes the default.
void register_llama(ExperimentRegistry& registry);

// Of llama_134m: as many microbatches as leave 32 to 128 sequences for a device.
std::vector<MeshRule> llama_134m_mesh_rules();
// What changes with the machine, for models of up to 13B, for larger ones, and for 405B.
std::vector<MeshRule> small_llama_mesh_rules(const Llama& llama);
std::vector<MeshRule> large_llama_mesh_rules(const Llama& llama);
std::vector<MeshRule> llama_405b_mesh_rules(const Llama& llama);

}  // namespace tenon
