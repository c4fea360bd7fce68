// The novels of `austen` under other losses: places to start from.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/trainer/trainer.h"

namespace tenon {

class ExperimentRegistry;

// The sizes that all share; as Austen's.
struct AustenMlm {
  int64_t num_layers = 4, model_dim = 128, num_heads = 4, hidden_dim = 352;
  int64_t batch_size = 8, sequence_length = 256, max_steps = 1400;
  double peak_learning_rate = 1e-2, mask_rate = 0.15;
  std::string data_path = "data/austen";
  void check(Checker& c) const;
  TENON_FN(num_layers, model_dim, num_heads, hidden_dim, batch_size, sequence_length, max_steps, peak_learning_rate,
           mask_rate, data_path)
  Trainer::Config operator()() const;
};

// Sizes are the student's; the teacher is a run of `austen` of the default sizes.
struct AustenDistill {
  int64_t num_layers = 2, model_dim = 64, num_heads = 2, hidden_dim = 176;
  int64_t batch_size = 8, sequence_length = 256, max_steps = 1400;
  double peak_learning_rate = 1e-2, temperature = 2, soft_weight = 0.5;
  std::string teacher = "runs/austen", data_path = "data/austen";
  void check(Checker& c) const;
  TENON_FN(num_layers, model_dim, num_heads, hidden_dim, batch_size, sequence_length, max_steps, peak_learning_rate,
           temperature, soft_weight, teacher, data_path)
  Trainer::Config operator()() const;
};

struct AustenPairs {
  int64_t num_layers = 2, model_dim = 128, num_heads = 4, hidden_dim = 352;
  int64_t batch_size = 32, sequence_length = 256, max_steps = 800;
  double peak_learning_rate = 3e-3;
  std::string data_path = "data/austen";
  void check(Checker& c) const;
  TENON_FN(num_layers, model_dim, num_heads, hidden_dim, batch_size, sequence_length, max_steps, peak_learning_rate,
           data_path)
  Trainer::Config operator()() const;
};

// Reads the novels with gaps, and writes what belongs there. Sizes are those of both stacks; `sequence_length` is that
// of the text, of which the encoder reads most and the decoder writes the rest. Bytes go together in longer spans than
// pieces of words do (ByT5: Xue et al. 2021, section 3.1).
struct AustenSpans {
  int64_t num_layers = 2, model_dim = 128, num_heads = 4, hidden_dim = 352;
  int64_t batch_size = 16, sequence_length = 256, max_steps = 500;
  double peak_learning_rate = 1e-2, noise_rate = 0.15, mean_span_length = 20;
  std::string data_path = "data/austen";
  void check(Checker& c) const;
  TENON_FN(num_layers, model_dim, num_heads, hidden_dim, batch_size, sequence_length, max_steps, peak_learning_rate,
           noise_rate, mean_span_length, data_path)
  Trainer::Config operator()() const;
};

void register_austen_objectives(ExperimentRegistry& registry);

}  // namespace tenon
