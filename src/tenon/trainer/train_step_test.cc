#include "tenon/trainer/train_step.h"

#include <gtest/gtest.h>

#include "tenon/data/language_dataset.h"
#include "tenon/ir/ops/custom_call.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/optim/adamw.h"

namespace tenon {
namespace {

TEST(TrainStep, FlopsAreTheModelsWhateverKernelsRun) {
  CausalLm::Config c;
  c.vocab_size = 64;
  c.model_dim = 32;
  auto& decoder = c.decoder.as<Decoder>();
  decoder.num_layers = 2;
  auto& layer = decoder.pattern[0].as<DecoderLayer>();
  layer.attention.as<MultiheadAttention>().num_heads = 2;
  layer.feed_forward.as<GatedFeedForward>().hidden_dim = 64;
  const CausalLm model(c);
  Learner::Config learner;
  learner.learning_rate = 0.1;
  learner.optimizer = AdamW::Config{};
  const auto step = [&](const KernelList& kernels) {
    return make_train_program(model, Learner(learner), {.batch = token_batch_types(4, 64), .kernels = kernels});
  };
  const auto takes_all = [](const KernelUse&) { return std::string(); };
  const auto call = [](const KernelUse& use, const std::vector<Tensor>& operands) {
    return custom_call({"mine", ""}, operands, use.results);
  };
  const TrainProgram with =
      step({{"attention", "mine", takes_all, call}, {"attention_backward", "mine", takes_all, call}});
  const TrainProgram without = step({});
  EXPECT_NE(with.program.text, without.program.text);
  EXPECT_EQ(with.flops.total, without.flops.total);
  EXPECT_GT(with.flops.total, 6.0 * 4 * 64 * (64 * 32 + 2 * (4 * 32 * 32 + 3 * 32 * 64)));
}

}  // namespace
}  // namespace tenon
