// The rules of the Llamas: that they are the published ones, and that their machines have room.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <optional>

#include "tenon/config/build_part.h"
#include "tenon/config/modify.h"
#include "tenon/config/registry.h"
#include "tenon/config/text.h"
#include "tenon/experiments/llama.h"
#include "tenon/experiments/machine_types.h"
#include "tenon/experiments/resolve.h"
#include "tenon/nn/dot/quantized_dot.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/optim/learner.h"
#include "tenon/runtime/chips.h"
#include "tenon/trainer/train_step.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

class LlamaRulesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  LlamaRulesTest() { register_llama(experiments_); }
  // Nothing where no rule is for the machine.
  std::optional<Trainer::Config> on(const std::string& name, const std::string& instance) const {
    const Experiment& experiment = experiments_.find(name);
    if (find_mesh_rule(experiment.mesh_rules, instance) < 0) return std::nullopt;
    return resolve(experiment, {.instance = instance}).config;
  }
  static SaveTags kept(const Trainer::Config& config) {
    const RematPolicy& policy = config.model.as<CausalLm>().decoder.as<Decoder>().pattern.at(0)->remat;
    const auto* tags = policy.as<SaveTags>();
    return tags != nullptr ? *tags : SaveTags{};
  }
  ExperimentRegistry experiments_;
};

// Meshes of AXLearn's rules, at sizes that it gives them for.
TEST_F(LlamaRulesTest, HaveThePublishedMeshes) {
  struct Case {
    const char *name, *instance, *mesh;
    int64_t devices;
  };
  const std::vector<Case> cases = {
      {"llama2_7b", "tpu-v4-1024", "data=32,fsdp=16,model=2", 1024},
      {"llama2_7b", "tpu-v5e-256", "fsdp=256", 256},
      {"llama2_7b", "tpu-v5litepod-256-2", "data=2,fsdp=256", 512},
      {"llama2_7b", "tpu-v5litepod-256-4", "data=4,fsdp=256", 1024},
      {"llama2_7b", "tpu-v6e-256-4", "data=4,fsdp=256", 1024},
      {"llama1_7b", "tpu-v6e-256-8", "data=8,fsdp=256", 2048},
      {"llama2_7b", "tpu-v5p-512", "data=4,fsdp=64", 256},
      {"llama3_8b", "tpu-v5p-512", "data=32,fsdp=8", 256},
      {"llama2_7b", "gpu-p5.48xlarge-256", "data=32,fsdp=8", 256},
      {"llama2_7b", "gpu-a3-megagpu-8g-1024", "data=128,fsdp=8", 1024},
      {"llama3_8b", "gpu-a4-highgpu-8g-512", "data=64,fsdp=8", 512},
      {"llama2_7b", "neuron-trn2n.48xlarge-64", "fsdp=16,model=4", 64},
      {"llama2_70b", "tpu-v5e-256-4", "data=4,fsdp=256", 1024},
      {"llama2_70b", "tpu-v5p-1024", "fsdp=512", 512},
      {"llama2_70b", "tpu-7x-256", "data=2,fsdp=128", 256},
      {"llama2_70b", "tpu-v6e-256", "fsdp=256", 256},
      {"llama3_70b", "tpu-v6e-256-8", "data=8,fsdp=256", 2048},
      {"llama2_70b", "gpu-h100-512", "data=4,fsdp=128", 512},
      {"llama2_70b", "gpu-p4de.24xlarge-512", "data=4,fsdp=128", 512},
      {"llama2_70b", "gpu-a3-ultragpu-8g-512", "data=8,fsdp=64", 512},
      {"llama2_70b", "gpu-a4-highgpu-8g-512", "data=32,fsdp=16", 512},
      {"llama3_70b", "neuron-trn2-64", "fsdp=16,model=4", 64},
      {"llama3_405b", "tpu-v5p-1024", "fsdp=512", 512},
      {"llama3_405b", "tpu-7x-512", "data=2,fsdp=256", 512},
  };
  for (const Case& c : cases) {
    const std::optional<Trainer::Config> config = on(c.name, c.instance);
    ASSERT_TRUE(config) << c.name << " " << c.instance;
    EXPECT_EQ(to_string(config->mesh.resolve(c.devices)), c.mesh) << c.name << " " << c.instance;
  }
  EXPECT_EQ(on("llama2_7b", "tpu-v5e-256")->accumulation, 4);
  EXPECT_EQ(on("llama2_7b", "tpu-v5e-256-2")->accumulation, 1);
  EXPECT_EQ(on("llama2_70b", "tpu-v6e-256")->accumulation, 4);
  EXPECT_EQ(on("llama2_7b", "gpu-h100-256")->accumulation, 1);
}

TEST_F(LlamaRulesTest, KeepWhatThePublishedOnesDo) {
  using Tags = std::vector<std::string>;
  const Tags attention = {"q_proj", "k_proj", "v_proj", "context", "o_proj"};
  Tags dots = attention;
  dots.insert(dots.end(), {"gate", "up"});
  EXPECT_EQ(kept(*on("llama2_7b", "tpu-v5e-256")).host, dots);
  EXPECT_EQ(kept(*on("llama2_7b", "tpu-v6e-256-2")).host, attention);
  EXPECT_EQ(kept(*on("llama2_7b", "gpu-h100-256")).device, attention);
  EXPECT_EQ(kept(*on("llama2_70b", "tpu-v5p-1024")).device, (Tags{"q_proj", "k_proj", "v_proj"}));
  EXPECT_EQ(kept(*on("llama2_70b", "neuron-trn2-64")).device, (Tags{"q_proj", "k_proj", "v_proj", "gate", "up"}));
  EXPECT_THAT(to_toml(*on("llama2_7b", "tpu-v5p-512")), HasSubstr("remat.type = \"SaveDots\""));
  EXPECT_THAT(to_toml(*on("llama2_7b", "tpu-v5e-256-4")), HasSubstr("remat.type = \"SaveDots\""));
  EXPECT_THAT(to_toml(*on("llama3_405b", "tpu-v5p-1024")), HasSubstr("remat.type = \"SaveNothing\""));
}

// Appendix A, for any of its machines.
TEST_F(LlamaRulesTest, ThePapersOwnAreChosenByName) {
  for (const char* name : {"llama2_7b", "llama2_70b", "llama3_8b"}) {
    const Trainer::Config v5e = *on(name, "paper-tpu-v5e-256-4"), h100 = *on(name, "paper-gpu-h100-512");
    EXPECT_EQ(v5e.mesh, (MeshConfig{.data = -1, .fsdp = 256}));
    EXPECT_EQ(kept(v5e).host.size(), 7u);
    EXPECT_EQ(h100.mesh, (MeshConfig{.data = 1, .fsdp = -1, .model = 8}));
    EXPECT_EQ(kept(h100).device.size(), 5u);
    EXPECT_THAT(to_toml(v5e), HasSubstr("feed_forward.down.dot.type = \"Int8Dot\""));
    EXPECT_THAT(to_toml(h100), HasSubstr("feed_forward.down.dot.history = 128"));
    EXPECT_EQ(v5e.accumulation * h100.accumulation, 1);
  }
  EXPECT_FALSE(on("llama1_33b", "paper-gpu-h100-512")) << "8 devices don't divide 52 heads";
  EXPECT_FALSE(on("llama2_7b", "paper-tpu-v5e-256"));
}

// What one device keeps of a token in every layer, in values, by the rule's policy.
double kept_values(const Llama& llama, const Trainer::Config& config, int64_t model) {
  const auto D = static_cast<double>(llama.model_dim), F = static_cast<double>(llama.hidden_dim);
  const auto m = static_cast<double>(model);
  const double kv =
      D * static_cast<double>(llama.num_kv_heads.value_or(llama.num_heads)) / static_cast<double>(llama.num_heads);
  const std::map<std::string, double> sizes = {{"q_proj", D / m},  {"k_proj", kv / m}, {"v_proj", kv / m},
                                               {"context", D / m}, {"o_proj", D},      {"gate", F / m},
                                               {"up", F / m}};
  bool is_split = false;  // what goes from layer to layer, along its tokens or its width
  for (const Axis& axis : config.model.as<CausalLm>().activation_partition.dims()) {
    is_split = is_split || std::find(axis.names.begin(), axis.names.end(), "model") != axis.names.end();
  }
  double values = is_split ? D / m : D;  // the layer's input
  const RematPolicy& policy = config.model.as<CausalLm>().decoder.as<Decoder>().pattern.at(0)->remat;
  if (const auto* tags = policy.as<SaveTags>()) {
    for (const std::string& tag : tags->device) values += sizes.at(tag);
  }
  if (policy.as<SaveDots>() != nullptr) {
    for (const auto& [tag, size] : sizes) values += size;
    values += D;  // the feed-forward's
  }
  return values;
}

// By arithmetic: parameters, gradients and two moments in f32 (and with microbatches the sum of their gradients), and
// what is kept of the layers in bf16, must leave room on every known machine for which there is a rule.
TEST_F(LlamaRulesTest, LeaveRoomOnTheirMachines) {
  const std::map<std::string, double> parameters = {
      {"llama1_7b", 6.74e9},  {"llama1_13b", 13.02e9}, {"llama1_33b", 32.53e9}, {"llama1_65b", 65.3e9},
      {"llama2_7b", 6.74e9},  {"llama2_13b", 13.02e9}, {"llama2_70b", 69.0e9},  {"llama3_8b", 8.03e9},
      {"llama3_70b", 70.6e9}, {"llama3_405b", 405.9e9}};
  int64_t checked = 0;
  for (const auto& [name, count] : parameters) {
    const Experiment& experiment = experiments_.find(name);
    const Llama& llama = *experiment.make.as<Llama>();
    std::map<int64_t, std::optional<Trainer::Config>> by_rule;
    for (const MachineType& machine : builtin_machine_types()) {
      if (machine.is_choice || machine.chip == "cpu") continue;
      const int64_t rule = find_mesh_rule(experiment.mesh_rules, machine.instance);
      if (rule < 0) continue;
      std::optional<Trainer::Config>& config = by_rule[rule];
      if (!config) config = on(name, machine.instance);
      const Mesh mesh = config->mesh.resolve(machine.devices);
      const int64_t model = mesh.size("model");
      const int64_t groups = mesh.shards(batch_partition().dims()[0]);
      const auto rows = static_cast<double>(llama.batch_size / (groups * config->accumulation));
      const double kept =
          2 * rows * static_cast<double>(llama.sequence_length * llama.num_layers) * kept_values(llama, *config, model);
      const double of_parameter =
          (config->accumulation > 1 ? 20 : 16) - (config->learner.as<Learner>().offload ? 8 : 0);
      const double state = of_parameter * count / static_cast<double>(mesh.size("fsdp") * model);
      const auto memory = static_cast<double>(ChipTable::builtin().find(machine.chip).memory_bytes);
      EXPECT_LT(kept + state, 0.85 * memory) << name << " on " << machine.instance;
      ++checked;
    }
  }
  EXPECT_GT(checked, 1000);
}

TEST_F(LlamaRulesTest, ThereAreNoneWhereNothingFits) {
  EXPECT_FALSE(on("llama3_405b", "tpu-v6e-256"));
  EXPECT_TRUE(on("llama3_405b", "tpu-v6e-256-2"));
  EXPECT_FALSE(on("llama3_405b", "gpu-h100-128"));
  EXPECT_FALSE(on("llama2_70b", "gpu-h100-8"));
}

}  // namespace
}  // namespace tenon
