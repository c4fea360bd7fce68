#include "tenon/experiments/llama.h"

#include <gmock/gmock.h>

#include "tenon/config/build_part.h"
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

// One instance of every kind, and how many devices it has.
struct Machine {
  std::string instance;
  int64_t devices;
};
std::vector<Machine> machines() {
  std::vector<Machine> out;
  for (int64_t size : {1, 2, 4, 6, 8, 12, 16, 24, 32, 64, 96, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}) {
    const std::string text = std::to_string(size);
    for (const char* kind : {"gpu-p5.48xlarge-", "gpu-p4de.24xlarge-", "gpu-a3-mega-", "gpu-h100-", "gpu-a4-high-",
                             "gpu-b200-", "neuron-trn2-", "cpu-", "tpu-v5e-", "tpu-v6e-"}) {
      out.push_back({kind + text, size});
    }
    if (size % 2 == 0) out.push_back({"tpu-v5p-" + text, size / 2});
    for (const char* kind : {"tpu-v4-", "tpu-v5e-256-", "tpu-v6e-256-", "tpu-v5p-512-"}) {
      out.push_back({kind + text, std::string(kind) == "tpu-v4-" ? size : 256 * size});
    }
  }
  return out;
}

TEST_F(LlamaTest, EveryMeshRuleDividesTheMachinesItMatches) {
  for (const char* name : {"llama2_7b", "llama2_70b", "llama3_405b"}) {
    int matches = 0;
    for (const Machine& machine : machines()) {
      const Resolved resolved = resolve(experiments_.find(name), {.instance = machine.instance});
      if (resolved.report.starts_with("no mesh rule")) continue;
      ++matches;
      EXPECT_NO_THROW(resolved.config.mesh.resolve(machine.devices)) << name << " on " << machine.instance;
    }
    EXPECT_GT(matches, 40) << name;
  }
}

// Of each device: 16 bytes a parameter, shared by all, and every layer's input of one sequence in bf16 (a group of
// `model` devices holds one at a time); less than nine tenths of its memory.
TEST_F(LlamaTest, Llama405bFitsTheMachinesOfItsRules) {
  const double parameters = 405'853'388'800, inputs = 126.0 * 8192 * 16384 * 2;
  int matches = 0;
  for (const Machine& machine : machines()) {
    const Resolved resolved = resolve(experiments_.find("llama3_405b"), {.instance = machine.instance});
    if (resolved.report.starts_with("no mesh rule") || machine.instance.starts_with("cpu-")) continue;
    ++matches;
    const Mesh mesh = resolved.config.mesh.resolve(machine.devices);
    EXPECT_EQ(resolved.config.data->batch_size, resolved.config.accumulation * mesh.size("fsdp")) << machine.instance;
    const bool blackwell = machine.instance.starts_with("gpu-a4") || machine.instance.starts_with("gpu-b200");
    const double memory = machine.instance.starts_with("tpu") ? 95.73 * (1 << 30) : blackwell ? 180e9 : 80e9;
    EXPECT_LT(16 * parameters / static_cast<double>(machine.devices) + inputs, 0.9 * memory) << machine.instance;
  }
  EXPECT_EQ(matches, 5 + 4 * 7 + 2 * 8);
  EXPECT_THAT(resolve(experiments_.find("llama3_405b"), {.instance = "tpu-v6e-256"}).report,
              ::testing::StartsWith("no mesh rule matches"));
}

// Every mesh rule of a model fits it: the step traces, cut to one layer, on the devices the rule speaks of.
TEST_F(LlamaTest, MeshRulesTrace) {
  const std::vector<std::pair<std::string, int64_t>> machines = {
      {"tpu-v5e-256", 256}, {"tpu-v5p-128", 128}, {"tpu-v6e-256-2", 512}, {"gpu-h100-128", 128}, {"cpu-8", 8}};
  for (const char* name : {"llama2_7b", "llama3_70b"}) {
    for (const auto& [instance, devices] : machines) {
      const Resolved resolved =
          resolve(experiments_.find(name), {.assignments = {"model.decoder.num_layers=1"}, .instance = instance});
      EXPECT_THAT(resolved.report, ::testing::HasSubstr("mesh rule"));
      EXPECT_GT(trace_train_step(resolved.config, devices).step.flops.total, 0) << name << " on " << instance;
    }
  }
  const Resolved large = resolve(experiments_.find("llama3_405b-fp8"),
                                 {.assignments = {"model.decoder.num_layers=1"}, .instance = "gpu-h100-512"});
  EXPECT_GT(trace_train_step(large.config, 512).step.flops.total, 0);
}

}  // namespace
}  // namespace tenon
