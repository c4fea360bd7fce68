#include "tenon/experiments/qwen3_moe.h"

#include "tenon/config/define.h"
#include "tenon/data/text_dataset.h"
#include "tenon/experiments/llama.h"
#include "tenon/nn/experts/mixture_of_experts.h"
#include "tenon/nn/language/causal_lm.h"

namespace tenon {

TENON_FN_TYPE(Qwen3Moe, Trainer::Config(), "a mixture of experts (Qwen Team 2025)", {"num_layers", "decoder layers"},
              {"model_dim", "width of the residual stream"}, {"num_heads", "attention heads"},
              {"num_kv_heads", "heads of keys and values"}, {"head_dim", "width of a head"},
              {"num_experts", "experts in a layer"}, {"top_k", "experts that see a token"},
              {"expert_hidden_dim", "width inside an expert"}, {"vocab_size", "different tokens"},
              {"rope_theta", "base of the wavelengths of rotary positions"}, {"norm_eps", "of every norm"},
              {"load_balance_loss", "its share in the training loss"},
              {"capacity_factor", "what an expert takes of a sequence, over its even share"},
              {"batch_size", "sequences in a step"}, {"sequence_length", "tokens in a sequence"},
              {"train_tokens", "tokens in all: the steps come from it"}, {"peak_learning_rate", "after warmup"},
              {"warmup_steps", "over which the learning rate rises"},
              {"loss_chunks", "pieces in which logits are made"}, {"expert", "devices that experts are spread over"},
              {"fsdp", "devices that share the parameters; -1: all others"},
              {"data_path", "a text file, or a folder of them"},
              {"data", "a directory that `tenon data prepare` wrote; empty: data_path"})

namespace {

// A Llama but for its feed-forwards, the width of its heads and the norms of queries and keys.
Llama llama_of(const Qwen3Moe& args) {
  return {.num_layers = args.num_layers,
          .model_dim = args.model_dim,
          .num_heads = args.num_heads,
          .num_kv_heads = args.num_kv_heads,
          .vocab_size = args.vocab_size,
          .rope_theta = args.rope_theta,
          .norm_eps = args.norm_eps,
          .batch_size = args.batch_size,
          .sequence_length = args.sequence_length,
          .train_tokens = args.train_tokens,
          .peak_learning_rate = args.peak_learning_rate,
          .warmup_steps = args.warmup_steps,
          .loss_chunks = args.loss_chunks,
          .fsdp = args.fsdp,
          .data_path = args.data_path,
          .data = args.data};
}

MixtureOfExperts::Config mixture(const Qwen3Moe& args) {
  MixtureOfExperts::Config c;
  c.num_experts = args.num_experts;
  auto& router = c.router.as<TopKRouter>();
  router.top_k = args.top_k;
  router.load_balance_loss = args.load_balance_loss;
  c.experts.as<GatedExperts>().hidden_dim = args.expert_hidden_dim;
  c.dispatch.as<CapacityDispatch>().capacity_factor = args.capacity_factor;
  return c;
}

}  // namespace

void Qwen3Moe::check(Checker& c) const {
  llama_of(*this).check(c);
  c.positive("head_dim", head_dim);
  c.positive("num_experts", num_experts);
  c.positive("top_k", top_k);
  c.at_most("top_k", top_k, num_experts);
  c.positive("expert_hidden_dim", expert_hidden_dim);
  c.positive("capacity_factor", capacity_factor);
}

Trainer::Config Qwen3Moe::operator()() const {
  Trainer::Config c = llama_of(*this)();
  c.mesh.expert = expert;
  auto& layer = c.model.as<CausalLm>().decoder.as<Decoder>().pattern.at(0).as<DecoderLayer>();
  auto& attention = layer.attention.as<MultiheadAttention>();
  attention.head_dim = head_dim;
  NormedQkv::Config normed;
  normed.norm.as<RMSNorm>().eps = norm_eps;
  attention.qkv.as<RotaryQkv>().projection = normed;
  layer.feed_forward = mixture(*this);
  return c;
}

void register_qwen3_moe(ExperimentRegistry& registry) {
  registry.add({"qwen3_30b_a3b", "Qwen3-30B-A3B, 30.5B parameters, 3.3B of them a token", Qwen3Moe{},
                qwen3_moe_mesh_rules(Qwen3Moe{})});
  registry.add({"qwen3_moe_test", "a mixture of experts, tiny: seconds, for tests",
                Qwen3Moe{.num_layers = 4,
                         .model_dim = 32,
                         .num_heads = 4,
                         .num_kv_heads = 2,
                         .head_dim = 12,
                         .num_experts = 8,
                         .top_k = 2,
                         .expert_hidden_dim = 24,
                         .vocab_size = 259,
                         .load_balance_loss = 1e-2,
                         .batch_size = 8,
                         .sequence_length = 64,
                         .train_tokens = 100 * 8 * 64,
                         .peak_learning_rate = 3e-3,
                         .warmup_steps = 10,
                         .loss_chunks = 8,
                         .fsdp = 1}});
}

}  // namespace tenon
