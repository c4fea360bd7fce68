// The sizes, with their published hyperparameters. Batches and tokens, published in millions and trillions, are taken
// as 2^22 or 2^24 tokens and as powers of ten.
#include "tenon/config/modifiers.h"
#include "tenon/experiments/llama.h"
#include "tenon/nn/attention/attention_core.h"
#include "tenon/nn/dot/quantized_dot.h"
#include "tenon/nn/modifiers.h"

namespace tenon {
namespace {

constexpr int64_t kTrillion = 1'000'000'000'000;

// Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models", table 2 and section 2.3; hidden_dim is
// 2/3 of 4 model_dim, rounded up to a multiple of 256, and norm_eps as in the released weights (65B has its own).
// Neither Llama 1 nor 2 masks documents from one another.
const Llama kLlama1 = {
    .hidden_dim = 11008,
    .norm_eps = 1e-6,
    .batch_size = 2048,
    .sequence_length = 2048,
    .train_tokens = kTrillion,
    .separate_documents = false,
};
// Touvron et al. 2023, "Llama 2: Open Foundation and Fine-Tuned Chat Models", section 2.2, tables 1 and 21.
const Llama kLlama2 = {.adam_eps = 1e-5,
                       .batch_size = 1024,
                       .sequence_length = 4096,
                       .train_tokens = 2 * kTrillion,
                       .separate_documents = false};
// Dubey et al. 2024, "The Llama 3 Herd of Models", table 3, sections 3.2 (documents are masked) and 3.4.1, at the main
// part's batch (16M tokens) and context length. Warmup and the end of the schedule are published for 405B only and
// taken for all.
const Llama kLlama3 = {
    .num_kv_heads = 8,
    .hidden_dim = 14336,
    .vocab_size = 128256,
    .rope_theta = 500000,
    .batch_size = 2048,
    .sequence_length = 8192,
    .train_tokens = 15 * kTrillion,
    .final_learning_rate_ratio = 0.01,
    .warmup_steps = 8000,
};

struct Shape {
  int64_t num_layers, model_dim, num_heads, hidden_dim;
};
Llama sized(Llama llama, const Shape& shape) {
  llama.num_layers = shape.num_layers;
  llama.model_dim = shape.model_dim;
  llama.num_heads = shape.num_heads;
  llama.hidden_dim = shape.hidden_dim;
  return llama;
}

// More than 13B: all devices share the parameters, and the learning rate is lower.
Llama large(Llama llama, double peak_learning_rate = 1.5e-4) {
  llama.peak_learning_rate = peak_learning_rate;
  llama.fsdp = -1;
  return llama;
}

Llama grouped(Llama llama, int64_t num_kv_heads) {
  llama.num_kv_heads = num_kv_heads;
  return llama;
}

Llama trained_on(Llama llama, int64_t tokens) {
  llama.train_tokens = tokens;
  return llama;
}

Llama with_norm_eps(Llama llama, double norm_eps) {
  llama.norm_eps = norm_eps;
  return llama;
}

// Of the same form, with settings of common practice: 32 to 128 sequences of 512 to 2048 tokens a device at a time, a
// learning rate of 1e-3 behind a warmup, as many tokens as 20 times the parameters (Hoffmann et al. 2022, "Training
// Compute-Optimal Large Language Models").
const Llama k134m = {.num_layers = 12,
                     .model_dim = 768,
                     .num_heads = 12,
                     .hidden_dim = 2048,
                     .batch_size = 256,
                     .sequence_length = 1024,
                     .train_tokens = 2'700'000'000,
                     .peak_learning_rate = 1e-3,
                     .warmup_steps = 500,
                     .fsdp = 1};

// Of the same form, small enough for seconds on a CPU, for bytes.
Llama tiny(Llama llama) {
  llama = sized(llama, {.num_layers = 4, .model_dim = 32, .num_heads = 4, .hidden_dim = 96});
  if (llama.num_kv_heads) llama.num_kv_heads = 2;
  llama.vocab_size = 259;
  llama.batch_size = 8;
  llama.sequence_length = 64;
  llama.train_tokens = 100 * 8 * 64;
  llama.peak_learning_rate = 3e-3;
  llama.warmup_steps = 10;
  llama.fsdp = 1;
  return llama;
}

// Attention in blocks, with whatever kernels a platform has for it, set where an experiment has it by default.
std::vector<Modifier> flash() {
  const FlashAttention::Config core;
  return {UseAttention{core}, SetField{.path = "**.core.block_size", .value = Value(core.block_size)},
          SetField{.path = "kernels.disable", .value = Value(Value::List{})}};
}

// The experiment, and its variants with products of 8-bit floats in the decoder, and with attention that is set.
void add_with_variants(ExperimentRegistry& registry, const Experiment& experiment) {
  registry.add(experiment);
  Experiment fp8 = experiment;
  fp8.name += "-fp8";
  fp8.description += ", with products of 8-bit floats";
  fp8.modifiers.push_back(UseDot{Fp8Dot::Config{}, "model.decoder"});
  registry.add(fp8);
  Experiment pinned = experiment;
  pinned.name += "-flash";
  pinned.description += ", with FlashAttention by name";
  for (Modifier& modifier : flash()) pinned.modifiers.push_back(std::move(modifier));
  registry.add(pinned);
}

using RulesOf = std::vector<MeshRule> (*)(const Llama&);

// And the same with batches of one part in `fewer`, for the eight devices of one host.
void add_with_single_host(ExperimentRegistry& registry, std::string name, std::string description, Llama llama,
                          RulesOf rules, int64_t fewer) {
  add_with_variants(registry, {name, description, llama, rules(llama)});
  llama.batch_size /= fewer;
  llama.fsdp = -1;
  add_with_variants(registry, {name + "-single_host", description + ", with batches for one host", llama});
}

}  // namespace

void register_llama(ExperimentRegistry& registry) {
  const auto small = [&](const char* name, const char* description, const Llama& llama, int64_t fewer) {
    add_with_single_host(registry, name, description, llama, small_llama_mesh_rules, fewer);
  };
  const auto big = [&](const char* name, const char* description, const Llama& llama, int64_t fewer) {
    add_with_single_host(registry, name, description, llama, large_llama_mesh_rules, fewer);
  };
  const int64_t longer = kTrillion * 14 / 10;
  small("llama1_7b", "Llama 1, 6.7B parameters", sized(kLlama1, {32, 4096, 32, 11008}), 32);
  small("llama1_13b", "Llama 1, 13.0B parameters", sized(kLlama1, {40, 5120, 40, 13824}), 32);
  big("llama1_33b", "Llama 1, 32.5B parameters", trained_on(large(sized(kLlama1, {60, 6656, 52, 17920})), longer), 32);
  big("llama1_65b", "Llama 1, 65.3B parameters",
      with_norm_eps(trained_on(large(sized(kLlama1, {80, 8192, 64, 22016})), longer), 1e-5), 32);
  small("llama2_7b", "Llama 2, 6.7B parameters", sized(kLlama2, {32, 4096, 32, 11008}), 32);
  small("llama2_13b", "Llama 2, 13.0B parameters", sized(kLlama2, {40, 5120, 40, 13824}), 32);
  big("llama2_70b", "Llama 2, 69.0B parameters", grouped(large(sized(kLlama2, {80, 8192, 64, 28672})), 8), 32);
  small("llama3_8b", "Llama 3, 8.0B parameters", sized(kLlama3, {32, 4096, 32, 14336}), 128);
  big("llama3_70b", "Llama 3, 70.6B parameters", large(sized(kLlama3, {80, 8192, 64, 28672})), 128);
  add_with_single_host(registry, "llama3_405b", "Llama 3, 405.9B parameters",
                       trained_on(large(sized(kLlama3, {126, 16384, 128, 53248}), 8e-5), kTrillion * 156 / 10),
                       llama_405b_mesh_rules, 128);
  add_with_variants(registry,
                    {"llama_134m", "Llama, 134M parameters, common settings", k134m, llama_134m_mesh_rules()});
  add_with_variants(registry, {"llama1_test", "Llama 1, tiny: seconds, for tests", tiny(kLlama1)});
  add_with_variants(registry, {"llama2_test", "Llama 2 with grouped keys, tiny", tiny(grouped(kLlama2, 8))});
  add_with_variants(registry, {"llama3_test", "Llama 3, tiny", tiny(kLlama3)});
}

}  // namespace tenon
