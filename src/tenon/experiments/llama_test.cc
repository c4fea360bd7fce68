#include "tenon/experiments/llama.h"

#include <gmock/gmock.h>

#include "tenon/config/build_part.h"
#include "tenon/config/modifiers.h"
#include "tenon/config/modify.h"
#include "tenon/config/registry.h"
#include "tenon/config/text.h"
#include "tenon/data/text_dataset.h"
#include "tenon/data/token_dataset.h"
#include "tenon/experiments/resolve.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/optim/learner.h"
#include "tenon/trainer/trace_step.h"

namespace tenon {
namespace {

class LlamaTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  LlamaTest() { register_llama(experiments_); }
  Trainer::Config config(const std::string& name, const Overrides& overrides = {}) const {
    return resolve(experiments_.find(name), overrides).config;
  }
  ExperimentRegistry experiments_;
};

int64_t count_parameters(const Trainer::Config& config) {
  int64_t count = 0;
  const std::unique_ptr<Model> model = build_part("model", config.model);
  for (const ParamInfo& param : describe_state(*model)) count += num_elements(param.logical_shape());
  return count;
}

// The totals of the released weights' files.
TEST_F(LlamaTest, HaveThePublishedNumberOfParameters) {
  const std::vector<std::pair<const char*, int64_t>> published = {
      {"llama1_7b", 6'738'415'616},    {"llama1_13b", 13'015'864'320}, {"llama1_33b", 32'528'943'616},
      {"llama1_65b", 65'285'660'672},  {"llama2_7b", 6'738'415'616},   {"llama2_13b", 13'015'864'320},
      {"llama2_70b", 68'976'648'192},  {"llama3_8b", 8'030'261'248},   {"llama3_70b", 70'553'706'496},
      {"llama3_405b", 405'853'388'800}};
  for (const auto& [name, count] : published) {
    EXPECT_EQ(count_parameters(config(name)), count) << name;
    EXPECT_EQ(count_parameters(config(std::string(name) + "-single_host")), count) << name;
  }
}

TEST_F(LlamaTest, TrainOnTheTokensAskedFor) {
  for (const Experiment* e : experiments_.all()) {
    const Llama& args = *e->make.as<Llama>();
    const Trainer::Config c = config(e->name);
    EXPECT_EQ(c.data->batch_size, args.batch_size) << e->name;
    EXPECT_EQ(c.mesh.fsdp, args.fsdp) << e->name;
    const int64_t batch = args.batch_size * args.sequence_length;
    EXPECT_GE(c.max_steps * batch, args.train_tokens) << e->name;
    EXPECT_LT((c.max_steps - 1) * batch, args.train_tokens) << e->name;
    EXPECT_GT(c.max_steps, args.warmup_steps) << e->name;
  }
  EXPECT_EQ(config("llama2_70b").max_steps, 476838);  // 2e12 / 2^22
}

TEST_F(LlamaTest, TrainOnPreparedDataWhenGiven) {
  const Trainer::Config c = config("llama2_test", {.assignments = {"args.data=tokens/books"}});
  ASSERT_EQ(c.data.as<TokenDataset>().sources.size(), 1u);
  EXPECT_EQ(*c.data.as<TokenDataset>().sources[0]->path, "tokens/books");
  EXPECT_EQ(c.data.as<TokenDataset>().sequence_length, 64);
  EXPECT_THROW(config("llama2_test", {.assignments = {"args.data=tokens", "args.data_path=text"}}), Error);
}

// params.json of the released weights.
TEST_F(LlamaTest, HaveTheNormsOfTheReleasedWeights) {
  const std::vector<std::pair<const char*, double>> released = {{"llama1_7b", 1e-6},  {"llama1_13b", 1e-6},
                                                                {"llama1_33b", 1e-6}, {"llama1_65b", 1e-5},
                                                                {"llama2_7b", 1e-5},  {"llama3_405b", 1e-5}};
  for (const auto& [name, eps] : released) {
    const Trainer::Config c = config(name);
    const auto& decoder = c.model.as<CausalLm>().decoder.as<Decoder>();
    EXPECT_EQ(decoder.norm.as<RMSNorm>().eps, eps) << name;
    EXPECT_EQ(decoder.pattern[0].as<DecoderLayer>().residual.as<PreNormResidual>().norm.as<RMSNorm>().eps, eps) << name;
  }
}

TEST_F(LlamaTest, TheFirstTwoMaskNoDocuments) {
  for (const Experiment* e : experiments_.all()) {
    const bool masks = !e->name.starts_with("llama1") && !e->name.starts_with("llama2");
    EXPECT_EQ(config(e->name).model.as<CausalLm>().separate_documents, masks) << e->name;
  }
  const Trainer::Config c = config("llama2_7b", {.assignments = {"args.separate_documents=true"}});
  EXPECT_TRUE(c.model.as<CausalLm>().separate_documents);
}

TEST_F(LlamaTest, TheSmallOneHasCommonSettings) {
  const Trainer::Config c = config("llama_134m");
  EXPECT_EQ(count_parameters(c), 134'105'856);
  EXPECT_EQ(c.data.as<TextDataset>().sequence_length, 1024);
  EXPECT_EQ(c.save_every_n_steps, 1000);
  EXPECT_EQ(c.model->compute_dtype, DType::bf16);
  EXPECT_NEAR(c.learner.as<Learner>().learning_rate(500), 1e-3, 1e-8);
  const std::vector<std::pair<std::string, int64_t>> machines = {
      {"gpu-h100-1", 1}, {"tpu-v5e-2", 2}, {"tpu-v5p-8", 4}, {"tpu-v6e-4", 4}, {"gpu-a3-highgpu-8g-8", 8}, {"", 8}};
  for (const auto& [instance, devices] : machines) {
    Overrides overrides;
    if (!instance.empty()) overrides.instance = instance;
    const Trainer::Config on = config("llama_134m", overrides);
    EXPECT_EQ(on.data->batch_size, 256);
    const int64_t at_a_time = on.data->batch_size.value() / on.accumulation / devices;
    EXPECT_GE(at_a_time, 32) << instance;
    EXPECT_LE(at_a_time, 128) << instance;
    EXPECT_LE(on.accumulation, 4) << instance;
  }
}

TEST_F(LlamaTest, SingleHostIsTheSameModelWithSmallerBatches) {
  const Trainer::Config c = config("llama3_8b-single_host");
  EXPECT_EQ(c.data->batch_size.value(), 16);
  EXPECT_EQ(c.max_steps, 114440918);  // 15e12 / 2^17
  EXPECT_EQ(c.mesh, (MeshConfig{.data = 1, .fsdp = -1}));
  EXPECT_EQ(c.model, config("llama3_8b").model);
}

// The variant sets all that makes attention what it is, on whatever it is laid over.
TEST_F(LlamaTest, FlashStaysWhenTheDefaultChanges) {
  const std::string core = "model.decoder.pattern.0.attention.core";
  EXPECT_EQ(config("llama2_7b-flash"), config("llama2_7b"));
  EXPECT_EQ(config("llama3_8b-single_host-flash"), config("llama3_8b-single_host"));
  Trainer::Config other = config("llama2_7b");
  replace<AttentionCore>(other, DotProductAttention::Config{});
  other.kernels.disable = {"attention"};
  ASSERT_NE(other, config("llama2_7b"));
  modify(other, experiments_.find("llama2_7b-flash").modifiers);
  EXPECT_EQ(other, config("llama2_7b"));
  apply_set(other, core + ".block_size=64");
  modify(other, experiments_.find("llama2_7b-flash").modifiers);
  EXPECT_EQ(other, config("llama2_7b"));
}

TEST_F(LlamaTest, EverySizeHasItsVariants) {
  for (const Experiment* e : experiments_.all()) {
    const std::string base = e->name.substr(0, e->name.find('-'));
    for (const char* suffix : {"", "-fp8", "-flash"}) EXPECT_NO_THROW(experiments_.find(base + suffix));
    if (base.ends_with("_test") || base == "llama_134m") continue;
    for (const char* suffix : {"", "-fp8", "-flash"})
      EXPECT_NO_THROW(experiments_.find(base + "-single_host" + suffix));
  }
}

TEST_F(LlamaTest, TestSizesTrace) {
  for (const char* name : {"llama1_test", "llama2_test", "llama3_test"}) {
    EXPECT_GT(trace_train_step(config(name), 1).step.flops.total, 0) << name;
  }
}

TEST_F(LlamaTest, Fp8IsTheSameModelWithOtherProductsInItsDecoder) {
  Trainer::Config c = config("llama3_8b-fp8");
  const std::string text = to_toml(c);
  EXPECT_EQ(text.find("decoder.pattern.0.feed_forward.down.dot.type = \"PlainDot\""), std::string::npos);
  EXPECT_THAT(text, ::testing::HasSubstr("model.head.linear.dot.type = \"PlainDot\""));
  replace<Dot>(c, PlainDot::Config{});
  EXPECT_EQ(c, config("llama3_8b"));
}

}  // namespace
}  // namespace tenon
