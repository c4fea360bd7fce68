// Qwen3's mixtures of experts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/experiments/experiment.h"

namespace tenon {

// Each field with its published value for Qwen3-30B-A3B (Qwen Team 2025, "Qwen3 Technical Report", section 2 and table
// 2, and the released config.json), but for what training leaves unsaid: batches, steps and rates.
struct Qwen3Moe {
  int64_t num_layers = 48, model_dim = 2048, num_heads = 32, num_kv_heads = 4, head_dim = 128;
  int64_t num_experts = 128, top_k = 8, expert_hidden_dim = 768;
  int64_t vocab_size = 151936;
  double rope_theta = 1e6, norm_eps = 1e-6;
  double load_balance_loss = 1e-3, capacity_factor = 1.25;
  int64_t batch_size = 2048, sequence_length = 4096;
  int64_t train_tokens = 30'000'000'000'000;
  double peak_learning_rate = 4e-4;
  int64_t warmup_steps = 2000;
  // Pieces in which logits are made.
  int64_t loss_chunks = 16;
  // Devices that experts are spread over, and that share each parameter; -1: all others.
  int64_t expert = 1, fsdp = -1;
  std::string data_path = "data/text";
  // Prepared data to train on in place of data_path.
  std::string data = {};
  void check(Checker& c) const;
  TENON_FN(num_layers, model_dim, num_heads, num_kv_heads, head_dim, num_experts, top_k, expert_hidden_dim, vocab_size,
           rope_theta, norm_eps, load_balance_loss, capacity_factor, batch_size, sequence_length, train_tokens,
           peak_learning_rate, warmup_steps, loss_chunks, expert, fsdp, data_path, data)
  Trainer::Config operator()() const;
};

// For machines by kind and size.
std::vector<MeshRule> qwen3_moe_mesh_rules(const Qwen3Moe& args);

// qwen3_30b_a3b, and qwen3_moe_test, which takes seconds on a CPU.
void register_qwen3_moe(ExperimentRegistry& registry);

}  // namespace tenon
