// A small Llama-style model of bytes, trained on six novels in minutes on a CPU.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/trainer/trainer.h"

namespace tenon {

class ExperimentRegistry;

struct AustenArgs {
  int64_t num_layers = 4, model_dim = 128, num_heads = 4, hidden_dim = 352;
  int64_t batch_size = 4, sequence_length = 256, max_steps = 3400;
  double peak_learning_rate = 2e-3;
  std::string path = "data/austen";
};
Trainer::Config austen(const AustenArgs& args);

void register_austen(ExperimentRegistry& registry);

}  // namespace tenon
