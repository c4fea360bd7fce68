#include "tenon/experiments/mamba2_lm.h"

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/experiments/llama.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/nn/state_space/mamba2.h"
#include "tenon/nn/transformer/mixer_layer.h"

namespace tenon {

TENON_FN_TYPE(Mamba2Lm, Trainer::Config(), "a Mamba-2 (Dao & Gu 2024)", {"num_layers", "mixers, without feed-forwards"},
              {"model_dim", "width of the residual stream"}, {"head_dim", "width of a head"},
              {"state_dim", "numbers that each element of a head carries on"},
              {"num_groups", "groups of heads that share what they write by and read by"},
              {"chunk_size", "tokens that are computed together, by products of matrices"},
              {"vocab_size", "different tokens"}, {"norm_eps", "of every norm"}, {"batch_size", "sequences in a step"},
              {"sequence_length", "tokens in a sequence"}, {"train_tokens", "tokens in all: the steps come from it"},
              {"peak_learning_rate", "after warmup"}, {"final_learning_rate", "at the end"},
              {"warmup_steps", "over which the learning rate rises"},
              {"separate_documents", "whether the state starts anew with each document, or runs on through a row"},
              {"loss_chunks", "pieces in which logits are made"},
              {"fsdp", "devices that share each parameter; -1: all"}, {"data_path", "a text file, or a folder of them"},
              {"data", "a directory that `tenon data prepare` wrote; empty: data_path"})

namespace {

// Trains as a Llama does.
Llama llama_of(const Mamba2Lm& args) {
  return {.num_layers = args.num_layers,
          .model_dim = args.model_dim,
          .num_heads = 1,
          .hidden_dim = 1,
          .vocab_size = args.vocab_size,
          .norm_eps = args.norm_eps,
          .batch_size = args.batch_size,
          .sequence_length = args.sequence_length,
          .train_tokens = args.train_tokens,
          .peak_learning_rate = args.peak_learning_rate,
          .final_learning_rate_ratio = args.final_learning_rate / args.peak_learning_rate,
          .warmup_steps = args.warmup_steps,
          .separate_documents = args.separate_documents,
          .loss_chunks = args.loss_chunks,
          .fsdp = args.fsdp,
          .data_path = args.data_path,
          .data = args.data};
}

MixerLayer::Config layer(const Mamba2Lm& args) {
  Mamba2::Config mixer;
  mixer.head_dim = args.head_dim;
  mixer.state_dim = args.state_dim;
  mixer.num_groups = args.num_groups;
  mixer.chunk_size = args.chunk_size;
  mixer.linear.as<Linear>().init = FanInUniform{};
  mixer.group_linear.as<Linear>().init = FanInUniform{};
  mixer.output.as<Linear>().init = FanInUniform{1 / std::sqrt(static_cast<double>(args.num_layers))};
  mixer.norm.as<GatedNorm>().eps = args.norm_eps;
  MixerLayer::Config c;
  c.mixer = mixer;
  c.residual.as<PreNormResidual>().norm.as<RMSNorm>().eps = args.norm_eps;
  return c;
}

}  // namespace

void Mamba2Lm::check(Checker& c) const {
  c.positive("peak_learning_rate", peak_learning_rate);
  c.at_least("final_learning_rate", final_learning_rate, 0);
  c.at_most("final_learning_rate", final_learning_rate, peak_learning_rate);
  c.positive("head_dim", head_dim);
  c.positive("state_dim", state_dim);
  c.positive("num_groups", num_groups);
  c.positive("chunk_size", chunk_size);
  if (peak_learning_rate > 0) llama_of(*this).check(c);
}

Trainer::Config Mamba2Lm::operator()() const {
  Trainer::Config c = llama_of(*this)();
  CausalLm::Config& model = c.model.as<CausalLm>();
  model.head = TiedHead::Config{};
  model.decoder.as<Decoder>().pattern = {layer(*this)};
  return c;
}

void register_mamba2_lm(ExperimentRegistry& registry) {
  struct Size {
    const char *name, *description;
    int64_t num_layers, model_dim, batch_size;
    double peak_learning_rate;
  };
  // Learning rates are five times GPT-3's; batches half a million tokens, a million from 1.3B on.
  const Size sizes[] = {{"mamba2_130m", "Mamba-2, 129M parameters", 24, 768, 256, 3e-3},
                        {"mamba2_370m", "Mamba-2, 368M parameters", 48, 1024, 256, 1.5e-3},
                        {"mamba2_780m", "Mamba-2, 780M parameters", 48, 1536, 256, 1.25e-3},
                        {"mamba2_1_3b", "Mamba-2, 1.34B parameters", 48, 2048, 512, 1e-3},
                        {"mamba2_2_7b", "Mamba-2, 2.70B parameters", 64, 2560, 512, 8e-4}};
  for (const Size& s : sizes) {
    registry.add({s.name, s.description,
                  Mamba2Lm{.num_layers = s.num_layers,
                           .model_dim = s.model_dim,
                           .batch_size = s.batch_size,
                           .peak_learning_rate = s.peak_learning_rate}});
  }
  registry.add({"mamba2_test", "Mamba-2, tiny: seconds, for tests",
                Mamba2Lm{.num_layers = 4,
                         .model_dim = 32,
                         .head_dim = 16,
                         .state_dim = 16,
                         .chunk_size = 16,
                         .vocab_size = 259,
                         .batch_size = 8,
                         .sequence_length = 64,
                         .train_tokens = 100 * 8 * 64,
                         .peak_learning_rate = 5e-3,
                         .warmup_steps = 10,
                         .fsdp = 1}});
}

}  // namespace tenon
