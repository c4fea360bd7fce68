// A small Llama-style model of bytes, trained on six novels in minutes on a CPU.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/trainer/trainer.h"

namespace tenon {

class ExperimentRegistry;

struct Austen {
  int64_t num_layers = 4, model_dim = 128, num_heads = 4, hidden_dim = 352;
  int64_t batch_size = 8, sequence_length = 256;
  // The learning rate rises over the first twentieth of them and falls over the others.
  int64_t max_steps = 1400;
  double peak_learning_rate = 1e-2;
  std::string data_path = "data/austen";
  void check(Checker& c) const;
  TENON_FN(num_layers, model_dim, num_heads, hidden_dim, batch_size, sequence_length, max_steps, peak_learning_rate,
           data_path)
  Trainer::Config operator()() const;
};

void register_austen(ExperimentRegistry& registry);

}  // namespace tenon
