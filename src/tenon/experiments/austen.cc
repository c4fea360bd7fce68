#include "tenon/experiments/austen.h"

#include "tenon/data/byte_vocab.h"
#include "tenon/data/text_dataset.h"
#include "tenon/experiments/experiment.h"
#include "tenon/nn/causal_lm.h"
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
  layer.attention.as<MultiheadAttention>().num_heads = args.num_heads;
  layer.feed_forward.as<GatedFeedForward>().hidden_dim = args.hidden_dim;
  return c;
}

}  // namespace

Trainer::Config austen(const AustenArgs& args) {
  Trainer::Config c;
  c.model = model(args);
  c.max_steps = args.max_steps;
  Learner::Config learner;
  learner.learning_rate = CosineWithWarmup{.peak = args.peak_learning_rate,
                                           .warmup_steps = args.max_steps / 20,
                                           .total_steps = args.max_steps,
                                           .final_ratio = 0.02};
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
