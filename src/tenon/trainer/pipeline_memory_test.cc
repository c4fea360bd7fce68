// How the compiler's temporary bytes of a pipeline grow with the number of its microbatches.
#include <gtest/gtest.h>

#include "tenon/data/language_dataset.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/optim/learner.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/executable.h"
#include "tenon/trainer/test_run.h"
#include "tenon/trainer/train_step.h"

namespace tenon {
namespace {

constexpr int64_t kStages = 4, kRows = 4, kTokens = 64, kDim = 64;

// Of one device, with microbatches of kRows rows each.
int64_t temporary_bytes(PipelineSchedule schedule, int64_t microbatches) {
  CausalLm::Config c;
  c.vocab_size = 101;
  c.model_dim = kDim;
  auto& decoder = c.decoder.as<Decoder>();
  decoder.num_layers = 2 * kStages;
  decoder.form = StackForm::pipeline;
  decoder.pipeline.microbatches = microbatches;
  decoder.pipeline.schedule = schedule;
  auto& layer = decoder.pattern[0].as<DecoderLayer>();
  layer.remat = SaveNothing{};
  layer.attention.as<MultiheadAttention>().num_heads = 2;
  layer.feed_forward.as<GatedFeedForward>().hidden_dim = 128;
  const CausalLm model(c);
  Learner::Config learner;
  learner.learning_rate = 0.1;
  const Mesh mesh{{"pipeline", kStages}};
  const StepSettings settings{mesh, token_batch_types(kRows * microbatches, kTokens), 1};
  return compile(cpu(8), mesh, make_train_program(model, Learner(learner), settings).program).memory().temporary;
}

TEST(PipelineMemory, SlowGrowsWithMicrobatchesUnlessGradientsComeBetween) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  constexpr int64_t kInput = kRows * kTokens * kDim * 4;  // of a stage, one microbatch
  const auto growth = [&](PipelineSchedule schedule) {
    return temporary_bytes(schedule, 16) - temporary_bytes(schedule, 4);
  };
  // Of each of 12 more, what its stage's two layers are given, and what goes into the first and comes out of the last.
  EXPECT_GE(growth(PipelineSchedule::gpipe), 12 * 4 * kInput);
  // Tokens, labels, positions and segments: four numbers where an input has kDim, perhaps held twice.
  EXPECT_LE(growth(PipelineSchedule::one_f_one_b), 12 * kInput * 8 / kDim);
}

}  // namespace
}  // namespace tenon
