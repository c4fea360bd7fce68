#include "tenon/experiments/mamba2_lm.h"

#include <gmock/gmock.h>

#include "tenon/config/build_part.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/resolve.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/trainer/trace_step.h"

namespace tenon {
namespace {

class Mamba2LmTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  Mamba2LmTest() { register_experiments(experiments_); }
  Trainer::Config config(const std::string& name, const Overrides& overrides = {}) const {
    return resolve(experiments_.find(name), overrides).config;
  }
  ExperimentRegistry experiments_;
};

// Those of Mamba2ForCausalLM of transformers 5.24 with the released configs and tied embeddings.
TEST_F(Mamba2LmTest, HaveThePublishedNumberOfParameters) {
  const std::vector<std::pair<const char*, int64_t>> published = {{"mamba2_130m", 128'989'632},
                                                                  {"mamba2_370m", 368'346'624},
                                                                  {"mamba2_780m", 780'161'280},
                                                                  {"mamba2_1_3b", 1'343'757'312},
                                                                  {"mamba2_2_7b", 2'702'599'680}};
  for (const auto& [name, want] : published) {
    int64_t count = 0;
    const std::unique_ptr<Model> model = build_part("model", config(name).model);
    for (const ParamInfo& param : describe_state(*model)) count += num_elements(param.logical_shape());
    EXPECT_EQ(count, want) << name;
  }
}

TEST_F(Mamba2LmTest, Trace) {
  EXPECT_GT(trace_train_step(config("mamba2_test"), 1).step.flops.total, 0);
  EXPECT_GT(
      trace_train_step(config("mamba2_test", {.assignments = {"mesh.model=2", "args.fsdp=2"}}), 4).step.flops.total, 0);
  const Overrides small{.assignments = {"model.decoder.num_layers=1"}};
  EXPECT_GT(trace_train_step(config("mamba2_130m", small), 8).step.flops.total, 0);
}

// Attention in some of the layers, by text; five layers are a pattern of two, twice and a half.
TEST_F(Mamba2LmTest, HybridsByText) {
  const Trainer::Config c =
      config("mamba2_test", {.assignments = {"model.decoder.pattern.1={type = \"MixerLayer\", mixer.type = "
                                             "\"MultiheadAttention\", mixer.num_heads = 2}",
                                             "model.decoder.num_layers=5"}});
  EXPECT_EQ(c.model.as<CausalLm>().decoder.as<Decoder>().pattern.size(), 2u);
  EXPECT_GT(trace_train_step(c, 1).step.flops.total, 0);
}

TEST_F(Mamba2LmTest, RatesAreChecked) {
  EXPECT_THROW(config("mamba2_test", {.assignments = {"args.peak_learning_rate=0"}}), Error);
  EXPECT_THROW(config("mamba2_test", {.assignments = {"args.final_learning_rate=1"}}), Error);
}

}  // namespace
}  // namespace tenon
