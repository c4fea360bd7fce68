#include "tenon/experiments/qwen3_moe.h"

#include <gmock/gmock.h>

#include "tenon/config/build_part.h"
#include "tenon/config/registry.h"
#include "tenon/data/token_dataset.h"
#include "tenon/experiments/machine_types.h"
#include "tenon/experiments/resolve.h"
#include "tenon/nn/experts/mixture_of_experts.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/runtime/chips.h"
#include "tenon/trainer/trace_step.h"
#include "tenon/trainer/train_step.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

class Qwen3MoeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  Qwen3MoeTest() { register_experiments(experiments_); }
  Trainer::Config config(const std::string& name, const Overrides& overrides = {}) const {
    return resolve(experiments_.find(name), overrides).config;
  }
  ExperimentRegistry experiments_;
};

// Those of the released weights' files. A token sees 8 of 128 experts.
TEST_F(Qwen3MoeTest, HasThePublishedNumberOfParameters) {
  int64_t all = 0, active = 0;
  const std::unique_ptr<Model> model = build_part("model", config("qwen3_30b_a3b").model);
  for (const ParamInfo& param : describe_state(*model)) {
    const int64_t count = num_elements(param.logical_shape());
    all += count;
    active += param.path.find(".experts.") == std::string::npos ? count : count * 8 / 128;
  }
  EXPECT_EQ(all, 30'532'122'624);
  EXPECT_EQ(active, 3'353'032'704);
}

// Forward, 2 FLOPs a token for each of those parameters but embeddings and norms, and 4 a pair of tokens for each width
// of a head in attention. What experts are filled up with isn't the model's.
TEST_F(Qwen3MoeTest, ModelFlopsAreThoseOfActiveParameters) {
  constexpr double kTokens = 4096, kWidths = 48 * 32 * 128;
  constexpr double kActive = 3'353'032'704 - 151936 * 2048 - (48 * 2 * (2048 + 128) + 2048);
  const std::string dropless = R"(Replace{from = "Dispatch", to = {type = "DroplessDispatch"}})";
  for (const std::vector<std::string>& modifiers : {std::vector<std::string>{}, {dropless}}) {
    const Overrides one{.assignments = {"args.batch_size=1", "args.train_tokens=16384000"}, .modifiers = modifiers};
    const FlopCount forward = count_forward_flops(config("qwen3_30b_a3b", one), 1);
    EXPECT_DOUBLE_EQ(forward.attention, 4 * kTokens * kTokens * kWidths);
    EXPECT_DOUBLE_EQ(forward.all_products(), 2 * kTokens * kActive + forward.attention);
  }
}

TEST_F(Qwen3MoeTest, Trace) {
  EXPECT_GT(trace_train_step(config("qwen3_moe_test"), 1).step.flops.total, 0);
  EXPECT_GT(
      trace_train_step(config("qwen3_moe_test", {.assignments = {"args.expert=2", "args.fsdp=2"}}), 4).step.flops.total,
      0);
  const Overrides small{.assignments = {"model.decoder.num_layers=1", "args.expert=8"}};
  EXPECT_GT(trace_train_step(config("qwen3_30b_a3b", small), 64).step.flops.total, 0);
}

// Parameters, two moments and a gradient in f32, with microbatches their sum as well, and in bf16 of each layer its
// input, the queries, keys and values, the context and what attention puts out.
TEST_F(Qwen3MoeTest, RulesLeaveRoomOnTheirMachines) {
  constexpr double kParameters = 30'532'122'624, kLayers = 48;
  constexpr double kWidths = 2048 + 32 * 128 + 2 * 4 * 128 + 32 * 128 + 2048;
  const Experiment& experiment = experiments_.find("qwen3_30b_a3b");
  int checked = 0;
  for (const MachineType& machine : builtin_machine_types()) {
    if (machine.is_choice || machine.chip == "cpu" || find_mesh_rule(experiment.mesh_rules, machine.instance) < 0)
      continue;
    const Trainer::Config c = resolve(experiment, {.instance = machine.instance}).config;
    const Mesh mesh = c.mesh.resolve(machine.devices);
    const int64_t groups = mesh.shards(batch_partition().dims()[0]);
    const double tokens = 4096.0 * static_cast<double>(2048 / (groups * c.accumulation));
    const double state =
        (c.accumulation > 1 ? 20 : 16) * kParameters / static_cast<double>(mesh.size("fsdp") * mesh.size("model"));
    const auto memory = static_cast<double>(ChipTable::builtin().find(machine.chip).memory_bytes);
    EXPECT_LT(state + 2 * tokens * kLayers * kWidths, 0.75 * memory) << machine.instance;
    ++checked;
  }
  EXPECT_GT(checked, 100);
  const auto mesh_on = [&](const char* instance, int64_t devices) {
    return to_string(resolve(experiment, {.instance = instance}).config.mesh.resolve(devices));
  };
  EXPECT_EQ(mesh_on("gpu-b200-512", 512), "data=64,fsdp=8");
  EXPECT_EQ(mesh_on("tpu-v5p-1024", 512), "data=8,fsdp=64");
  EXPECT_EQ(mesh_on("gpu-p5.48xlarge-64", 64), "data=2,fsdp=32");
}

TEST_F(Qwen3MoeTest, TrainsOnPreparedDataWhenGiven) {
  const Trainer::Config c = config("qwen3_moe_test", {.assignments = {"args.data=tokens/books"}});
  ASSERT_EQ(c.data.as<TokenDataset>().sources.size(), 1u);
  EXPECT_EQ(*c.data.as<TokenDataset>().sources[0]->path, "tokens/books");
  EXPECT_THROW(config("qwen3_moe_test", {.assignments = {"args.data=tokens", "args.data_path=text"}}), Error);
}

// Any experiment becomes a mixture by a modifier, alone or around what it had.
TEST_F(Qwen3MoeTest, ModifiersMakeMixtures) {
  const auto feed_forward = [&](const std::string& modifier) {
    const Trainer::Config c = config("llama2_test", {.modifiers = {modifier}});
    EXPECT_GT(trace_train_step(c, 1).step.flops.total, 0);
    return c.model.as<CausalLm>()
        .decoder.as<Decoder>()
        .pattern[0]
        .as<DecoderLayer>()
        .feed_forward.as<MixtureOfExperts>();
  };
  const MixtureOfExperts::Config alone = feed_forward(
      R"(Replace{from = "FeedForward", to = {type = "MixtureOfExperts", num_experts = 4, experts.hidden_dim = 48}})");
  EXPECT_EQ(alone.num_experts.value(), 4);
  EXPECT_FALSE(alone.shared);
  const MixtureOfExperts::Config around = feed_forward(
      R"(Wrap{from = "FeedForward", to = {type = "MixtureOfExperts", num_experts = 4, experts.hidden_dim = 48}, slot = "shared"})");
  ASSERT_TRUE(around.shared);
  EXPECT_TRUE(around.shared->is<GatedFeedForward>());
}

}  // namespace
}  // namespace tenon
