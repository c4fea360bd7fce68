#include "tenon/experiments/austen.h"

#include <algorithm>
#include <cmath>

#include "tenon/config/define.h"
#include "tenon/data/text_dataset.h"
#include "tenon/experiments/experiment.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/learner.h"
#include "tenon/optim/muon.h"
#include "tenon/optim/optimizer_by_path.h"
#include "tenon/text/byte_vocab.h"

namespace tenon {

TENON_FN_TYPE(Austen, Trainer::Config(), "a Llama-style model of bytes on a few megabytes of text",
              {"num_layers", "decoder layers"}, {"model_dim", "width of the residual stream"},
              {"num_heads", "attention heads"}, {"hidden_dim", "width inside a feed-forward"},
              {"batch_size", "sequences in a step"}, {"sequence_length", "bytes in a sequence"},
              {"max_steps", "steps in all; the learning rate's schedule ends there too"},
              {"peak_learning_rate", "after the first twentieth of the steps"},
              {"data_path", "a text file, or a folder of them"})

void Austen::check(Checker& c) const {
  c.positive("num_layers", num_layers);
  c.positive("model_dim", model_dim);
  c.positive("num_heads", num_heads);
  c.positive("hidden_dim", hidden_dim);
  check_batch_shape(c, batch_size, sequence_length);
  c.positive("max_steps", max_steps);
  c.at_least("peak_learning_rate", peak_learning_rate, 0);
}

namespace {

CausalLm::Config model(const Austen& args) {
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
  // Logits start small, yet tokens are heard above what untrained layers add to the residual stream.
  Embedding::Config& embedding = c.embedding.as<Embedding>();
  embedding.multiplier = std::sqrt(static_cast<double>(args.model_dim));
  embedding.init = Normal{1 / embedding.multiplier};
  attention.output.as<Linear>().init = FanInNormal{0.2};
  feed_forward.down.as<Linear>().init = FanInNormal{0.2};
  return c;
}

// Muon for the layers' matrices; AdamW for the norms and, slowly, for the embedding.
OptimizerByPath::Config optimizer() {
  Muon::Config muon;
  muon.momentum = 0.9;
  muon.iteration_dtype = DType::f32;
  AdamW::Config adamw;
  adamw.b2 = 0.99;
  OptimizerRule::Config matrices, embedding;
  matrices.path = "^decoder\\.layers\\..*weight$";
  matrices.optimizer = muon;
  embedding.path = "^embedding\\.";
  embedding.optimizer = adamw;
  embedding.learning_rate_scale = 0.3;
  OptimizerByPath::Config c;
  c.rules = {matrices, embedding};
  c.otherwise = adamw;
  return c;
}

}  // namespace

Trainer::Config Austen::operator()() const {
  Trainer::Config c;
  c.model = model(*this);
  c.max_steps = max_steps;
  c.log_every_n_steps = std::max<int64_t>(max_steps / 40, 1);
  c.save_every_n_steps = 500;
  Learner::Config learner;
  learner.learning_rate = CosineWithWarmup{
      .peak = peak_learning_rate, .warmup_steps = max_steps / 20, .total_steps = max_steps, .final_ratio = 0.02};
  learner.optimizer = optimizer();
  c.learner = learner;
  TextDataset::Config data;
  data.path = data_path;
  data.batch_size = batch_size;
  data.sequence_length = sequence_length;
  c.data = data;
  return c;
}

void register_austen(ExperimentRegistry& registry) {
  registry.add({"austen", "a Llama-style model of bytes on six novels, minutes on a CPU", Austen{}});
  registry.add({"austen_tiny", "the same, tiny: seconds, for trying things out",
                Austen{.num_layers = 2,
                       .model_dim = 32,
                       .num_heads = 2,
                       .hidden_dim = 64,
                       .batch_size = 8,
                       .sequence_length = 32,
                       .max_steps = 20}});
}

}  // namespace tenon
