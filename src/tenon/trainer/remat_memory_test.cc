// What remat choices do to the compiler's temporary bytes.
#include <gtest/gtest.h>

#include "tenon/data/language_dataset.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/learner.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/backend.h"
#include "tenon/runtime/executable.h"
#include "tenon/trainer/train_step.h"

namespace tenon {
namespace {

constexpr int64_t kBatch = 4, kTokens = 64;

CausalLm::Config small_lm() {
  CausalLm::Config c;
  c.vocab_size = 64;
  c.model_dim = 32;
  auto& decoder = c.decoder.as<Decoder>();
  decoder.num_layers = 6;
  auto& layer = decoder.pattern[0].as<DecoderLayer>();
  layer.attention.as<MultiheadAttention>().num_heads = 2;
  layer.feed_forward.as<GatedFeedForward>().hidden_dim = 256;
  return c;
}

int64_t temporary_bytes(const CausalLm::Config& config) {
  const CausalLm model(config);
  Learner::Config learner;
  learner.learning_rate = 0.1;
  learner.optimizer = AdamW::Config{};
  const StepSettings settings{Mesh(), token_batch_types(kBatch, kTokens), 1};
  return compile(Backend::open("cpu"), Mesh(), make_train_program(model, Learner(learner), settings).program)
      .memory()
      .temporary;
}

class RematMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  }
};

TEST_F(RematMemory, SlowChunkedLossesKeepNoLogits) {
  CausalLm::Config c = small_lm();
  c.vocab_size = 8192;
  const int64_t whole = temporary_bytes(c);
  c.loss_chunks = 8;
  const int64_t chunked = temporary_bytes(c);
  const int64_t logits = kBatch * kTokens * c.vocab_size * 4;
  EXPECT_GE(whole, logits);
  EXPECT_LE(chunked, whole - logits * 3 / 4);
}

TEST_F(RematMemory, SlowTheDefaultSavesLessThanEverything) {
  const auto with = [](const RematPolicy& policy) {
    CausalLm::Config c = small_lm();
    c.decoder.as<Decoder>().pattern[0]->remat = policy;
    return temporary_bytes(c);
  };
  const int64_t hidden = int64_t{6} * kBatch * kTokens * 256 * 4;  // one stack of [B,T,F]
  EXPECT_LE(with({}), with(SaveEverything{}) - 2 * hidden);
}

}  // namespace
}  // namespace tenon
