#include "tenon/experiments/llama.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/config/define.h"
#include "tenon/data/text_dataset.h"
#include "tenon/data/token_dataset.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/learner.h"

namespace tenon {

TENON_FN_TYPE(Llama, Trainer::Config(), "a Llama (Touvron et al. 2023)", {"num_layers", "decoder layers"},
              {"model_dim", "width of the residual stream"}, {"num_heads", "attention heads"},
              {"num_kv_heads", "heads of keys and values; empty: num_heads"},
              {"hidden_dim", "width inside a feed-forward"}, {"vocab_size", "different tokens"},
              {"rope_theta", "base of the wavelengths of rotary positions"}, {"norm_eps", "of every norm"},
              {"adam_eps", "of AdamW"}, {"batch_size", "sequences in a step"},
              {"sequence_length", "tokens in a sequence"}, {"train_tokens", "tokens in all: the steps come from it"},
              {"peak_learning_rate", "after warmup"}, {"final_learning_rate_ratio", "at the end, of the peak"},
              {"warmup_steps", "over which the learning rate rises"},
              {"separate_documents", "whether tokens see their own document only, or all of their row"},
              {"loss_chunks", "pieces in which logits are made"},
              {"fsdp", "devices that share the parameters; -1: all"}, {"data_path", "a text file, or a folder of them"},
              {"data", "a directory that `tenon data prepare` wrote; empty: data_path"})

void Llama::check(Checker& c) const {
  c.positive("num_layers", num_layers);
  c.positive("model_dim", model_dim);
  c.positive("num_heads", num_heads);
  c.positive("num_kv_heads", num_kv_heads);
  c.positive("hidden_dim", hidden_dim);
  c.positive("vocab_size", vocab_size);
  check_batch_shape(c, batch_size, sequence_length);
  c.positive("train_tokens", train_tokens);
  c.at_least("peak_learning_rate", peak_learning_rate, 0);
  c.at_least("warmup_steps", warmup_steps, 0);
  c.require(data.empty() || data_path == Llama().data_path, "data", "must be empty when data_path is set");
}

namespace {

CausalLm::Config model(const Llama& args) {
  CausalLm::Config c;
  c.vocab_size = args.vocab_size;
  c.model_dim = args.model_dim;
  c.compute_dtype = DType::bf16;
  c.separate_documents = args.separate_documents;
  c.loss_chunks = args.loss_chunks;
  c.head = LinearHead::Config{};
  RMSNorm::Config norm;
  norm.eps = args.norm_eps;
  Decoder::Config& decoder = c.decoder.as<Decoder>();
  decoder.num_layers = args.num_layers;
  decoder.norm = norm;
  DecoderLayer::Config& layer = decoder.pattern.at(0).as<DecoderLayer>();
  layer.residual.as<PreNormResidual>().norm = norm;
  layer.feed_forward.as<GatedFeedForward>().hidden_dim = args.hidden_dim;
  MultiheadAttention::Config& attention = layer.attention.as<MultiheadAttention>();
  attention.num_heads = args.num_heads;
  attention.num_kv_heads = args.num_kv_heads;
  RotaryQkv::Config rotary;
  rotary.theta = args.rope_theta;
  attention.qkv = rotary;
  return c;
}

Learner::Config learner(const Llama& args, int64_t max_steps) {
  AdamW::Config adamw;
  adamw.b1 = 0.9;
  adamw.b2 = 0.95;
  adamw.eps = args.adam_eps;
  adamw.weight_decay = 0.1;
  Learner::Config c;
  c.optimizer = adamw;
  c.clip_global_norm = 1;
  c.learning_rate = CosineWithWarmup{.peak = args.peak_learning_rate,
                                     .warmup_steps = args.warmup_steps,
                                     .total_steps = max_steps,
                                     .final_ratio = args.final_learning_rate_ratio};
  return c;
}

Slot<Dataset> dataset(const Llama& args) {
  const auto sized = [&](auto config) {
    config.batch_size = args.batch_size;
    config.sequence_length = args.sequence_length;
    return config;
  };
  if (args.data.empty()) {
    TextDataset::Config text;
    text.path = args.data_path;
    return sized(text);
  }
  TokenSource::Config source;
  source.path = args.data;
  TokenDataset::Config tokens;
  tokens.sources = {source};
  return sized(tokens);
}

}  // namespace

Trainer::Config Llama::operator()() const {
  const int64_t batch_tokens = batch_size * sequence_length;
  Trainer::Config c;
  c.max_steps = (train_tokens - 1) / batch_tokens + 1;
  c.model = model(*this);
  c.learner = learner(*this, c.max_steps);
  c.data = dataset(*this);
  c.mesh.data = fsdp == -1 ? 1 : -1;
  c.mesh.fsdp = fsdp;
  c.save_every_n_steps = std::min<int64_t>(1000, c.max_steps);
  c.eval_every_n_steps = std::min<int64_t>(5000, c.max_steps);
  return c;
}

}  // namespace tenon
