#include "tenon/experiments/austen.h"

#include <algorithm>

#include "tenon/data/byte_vocab.h"
#include "tenon/data/text_dataset.h"
#include "tenon/experiments/experiment.h"
#include "tenon/nn/causal_lm.h"
#include "tenon/nn/initializers.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/learner.h"

namespace tenon {
namespace {

CausalLm::Config model(const AustenArgs& args) {
  CausalLm::Config c;
  c.vocab_size = kByteVocabSize;
  c.model_dim = args.model_dim;
  Decoder::Config& decoder = c.decoder.as<Decoder>();
  decoder.num_layers = args.num_layers;
  DecoderLayer::Config& layer = decoder.pattern.at(0).as<DecoderLayer>();
  MultiheadAttention::Config& attention = layer.attention.as<MultiheadAttention>();
  GatedFeedForward::Config& feed_forward = layer.feed_forward.as<GatedFeedForward>();
  attention.num_heads = args.num_heads;
  feed_forward.hidden_dim = args.hidden_dim;
  // Tokens must be heard above what untrained layers add to the residual stream.
  c.embedding.as<Embedding>().init = Normal{0.3};
  attention.output.as<Linear>().init = FanInNormal{0.2};
  feed_forward.down.as<Linear>().init = FanInNormal{0.2};
  return c;
}

}  // namespace

Trainer::Config austen(const AustenArgs& args) {
  Trainer::Config c;
  c.model = model(args);
  c.max_steps = args.max_steps;
  c.log_every_n_steps = std::max<int64_t>(args.max_steps / 40, 1);
  c.save_every_n_steps = 500;
  Learner::Config learner;
  learner.learning_rate = CosineWithWarmup{.peak = args.peak_learning_rate,
                                           .warmup_steps = args.max_steps / 20,
                                           .total_steps = args.max_steps,
                                           .final_ratio = 0.02};
  AdamW::Config optimizer;
  optimizer.b2 = 0.99;
  learner.optimizer = optimizer;
  c.learner = learner;
  TextDataset::Config data;
  data.path = args.path;
  data.batch_size = args.batch_size;
  data.sequence_length = args.sequence_length;
  c.data = data;
  return c;
}

void register_austen(ExperimentRegistry& registry) {
  registry.add({"austen", "a Llama-style model of bytes on six novels, minutes on a CPU", [] { return austen({}); }});
  registry.add({"austen_tiny", "the same, tiny: seconds, for trying things out", [] {
                  return austen({.num_layers = 2,
                                 .model_dim = 32,
                                 .num_heads = 2,
                                 .hidden_dim = 64,
                                 .batch_size = 8,
                                 .sequence_length = 32,
                                 .max_steps = 20,
                                 .peak_learning_rate = 1e-2});
                }});
}

}  // namespace tenon
