// Mamba-2 language models.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/experiments/experiment.h"

namespace tenon {

// Each field with its published value for 130M parameters (Dao & Gu 2024, "Transformers are SSMs", appendix D, whose
// recipe is that of Gu & Dao 2023, "Mamba", appendix E.2, and the released configs), but for what training leaves
// unsaid: warmup.
struct Mamba2Lm {
  int64_t num_layers = 24, model_dim = 768;
  int64_t head_dim = 64, state_dim = 128, num_groups = 1;
  int64_t chunk_size = 256;
  int64_t vocab_size = 50288;
  double norm_eps = 1e-5;
  int64_t batch_size = 256, sequence_length = 2048;
  int64_t train_tokens = 300'000'000'000;
  double peak_learning_rate = 3e-3, final_learning_rate = 1e-5;
  int64_t warmup_steps = 2000;
  // Whether the state starts anew with each document, or runs on through a row.
  bool separate_documents = false;
  // Pieces in which logits are made.
  int64_t loss_chunks = 8;
  // Devices that share each parameter; -1: all.
  int64_t fsdp = -1;
  std::string data_path = "data/text";
  // Prepared data to train on in place of data_path.
  std::string data = {};
  void check(Checker& c) const;
  TENON_FN(num_layers, model_dim, head_dim, state_dim, num_groups, chunk_size, vocab_size, norm_eps, batch_size,
           sequence_length, train_tokens, peak_learning_rate, final_learning_rate, warmup_steps, separate_documents,
           loss_chunks, fsdp, data_path, data)
  Trainer::Config operator()() const;
};

// mamba2_130m … mamba2_2_7b, and mamba2_test, which takes seconds on a CPU.
void register_mamba2_lm(ExperimentRegistry& registry);

}  // namespace tenon
