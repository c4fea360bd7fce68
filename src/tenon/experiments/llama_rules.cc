// Instance types are named KIND-GENERATION-SIZE, as "tpu-v5p-512" or "gpu-h100-256". The size is that of the vendor's
// name: TensorCores of v4 and v5p, which have two a chip; else chips, and behind them how many such slices.
#include "tenon/experiments/llama.h"
#include "tenon/nn/modifiers.h"
#include "tenon/trainer/modifiers.h"

namespace tenon {
namespace {

SetRemat keep(RematPolicy policy) { return {.module = "TransformerLayer", .policy = std::move(policy)}; }
// The products of attention.
SaveTags attention() { return {.device = {"q_proj", "k_proj", "v_proj", "context", "o_proj"}}; }
SaveTags attention_offloaded() { return {.host = attention().device}; }
// All products, in host memory.
SaveTags dots_offloaded() { return {.host = {"q_proj", "k_proj", "v_proj", "context", "o_proj", "gate", "up"}}; }

MeshRule rule(std::string instance, std::vector<Modifier> modifiers) {
  return {.instance = std::move(instance), .modifiers = std::move(modifiers)};
}

// "(8|16|32)": the powers of two from one to another, each of them divided by smaller ones.
std::string sizes(int64_t from, int64_t to) {
  std::string out = "(" + std::to_string(from);
  for (int64_t size = 2 * from; size <= to; size *= 2) out += "|" + std::to_string(size);
  return out + ")";
}

// Sizes that a mesh with a fixed axis doesn't divide: all devices share the parameters.
SetMesh all_share() { return {{.data = 1, .fsdp = -1}}; }

constexpr int64_t kMaxGpus = 16384, kMaxCores = 16384;
constexpr const char* kHopper = "gpu-(p5\\.48xlarge|p4de\\.24xlarge|a3-.*|h100)-";
constexpr const char* kBlackwell = "gpu-(a4-.*|b200)-";
constexpr const char* kOtherSizes = "gpu-(p5\\.48xlarge|p4de\\.24xlarge|a3-.*|h100|a4-.*|b200)-[0-9]+";

}  // namespace

std::vector<MeshRule> llama_134m_mesh_rules() {
  const std::string kind = "(tpu|gpu)-.*-";
  return {rule(kind + "1", {AccumulateGradients{4}}), rule(kind + "2", {AccumulateGradients{2}}),
          rule(kind + "[48]", {AccumulateGradients{1}})};
}

std::vector<MeshRule> small_llama_mesh_rules() {
  return {
      rule("tpu-v4-(1024|2048)", {SetMesh{{.data = -1, .fsdp = 16}}}),
      rule("tpu-v5e-256", {SetMesh{{.data = -1, .fsdp = 256}}, keep(dots_offloaded()), AccumulateGradients{4}}),
      rule("tpu-v5e-256-[0-9]+", {SetMesh{{.data = -1, .fsdp = 256}}, keep(SaveDots{})}),
      rule("tpu-v6e-256(-[0-9]+)?", {SetMesh{{.data = -1, .fsdp = 256}}, keep(attention_offloaded())}),
      // 64 chips of two cores.
      rule("tpu-v5p-" + sizes(128, kMaxCores) + "(-[0-9]+)?", {SetMesh{{.data = -1, .fsdp = 64}}, keep(attention())}),
      rule("tpu-v5p-[0-9]+", {all_share(), keep(attention())}),
      rule(kHopper + sizes(8, kMaxGpus), {SetMesh{{.data = -1, .fsdp = 8}}, keep(attention())}),
      rule(kBlackwell + sizes(8, kMaxGpus), {SetMesh{{.data = -1, .fsdp = 8}}, keep(attention())}),
      rule(kOtherSizes, {all_share(), keep(attention())}),
      rule("neuron-trn2-" + sizes(4, kMaxGpus), {SetMesh{{.data = 1, .fsdp = -1, .model = 4}}, keep(attention())}),
      rule("cpu-.*", {SetMesh{{.data = -1}}}),
  };
}

std::vector<MeshRule> large_llama_mesh_rules() {
  return {
      rule("tpu-v5e-256(-[0-9]+)?", {SetMesh{{.data = -1, .fsdp = 256}}, keep(dots_offloaded())}),
      rule("tpu-v6e-256", {SetMesh{{.data = -1, .fsdp = 256}}, keep(attention_offloaded()), AccumulateGradients{4}}),
      rule("tpu-v6e-256-[0-9]+", {SetMesh{{.data = -1, .fsdp = 256}}, keep(attention_offloaded())}),
      rule("tpu-v5p-.*", {all_share(), keep(attention())}),
      rule("gpu-(p5\\.48xlarge|p4de\\.24xlarge)-" + sizes(128, kMaxGpus),
           {SetMesh{{.data = -1, .fsdp = 128}}, keep(attention())}),
      rule("gpu-(a3-.*|h100)-" + sizes(8, kMaxGpus), {SetMesh{{.data = 1, .fsdp = -1, .model = 8}}, keep(attention())}),
      rule(kBlackwell + sizes(16, kMaxGpus), {SetMesh{{.data = -1, .fsdp = 16}}, keep(attention())}),
      rule(kOtherSizes, {all_share(), keep(attention())}),
      rule("neuron-trn2-" + sizes(4, kMaxGpus), {SetMesh{{.data = 1, .fsdp = -1, .model = 4}}, keep(attention())}),
      rule("cpu-.*", {SetMesh{{.data = -1}}}),
  };
}

namespace {

// One sequence at a time for every `model` devices, nothing kept of a layer but its input. Of each device's memory
// then take: parameters, two moments and gradients in f32, 16 bytes * 406e9 / devices; and the layers' inputs in bf16,
// 126 * 8192 * 16384 * 2 bytes = 33.8 GB.
void add_405b_rules(std::vector<MeshRule>& rules, const std::string& kind, int64_t first_size, int64_t last_size,
                    int64_t cores_per_device, int64_t model) {
  constexpr int64_t kSequences = 2048;
  for (int64_t size = first_size; size <= last_size; size *= 2) {
    const int64_t fsdp = size / cores_per_device / model;
    rules.push_back(rule(kind + std::to_string(size), {SetMesh{{.data = 1, .fsdp = -1, .model = model}},
                                                       keep(SaveNothing{}), AccumulateGradients{kSequences / fsdp}}));
  }
}

}  // namespace

std::vector<MeshRule> llama_405b_mesh_rules() {
  std::vector<MeshRule> rules;
  add_405b_rules(rules, "tpu-v5p-", 512, 8192, 2, 4);      // 95 GiB a chip, of two cores
  add_405b_rules(rules, kHopper, 256, kMaxGpus, 1, 8);     // 80 GB
  add_405b_rules(rules, kBlackwell, 128, kMaxGpus, 1, 8);  // 180 GB
  rules.push_back(rule("cpu-.*", {SetMesh{{.data = -1}}}));
  return rules;
}

}  // namespace tenon
