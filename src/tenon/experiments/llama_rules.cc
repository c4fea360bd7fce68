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

MeshRule rule(const char* instance, std::vector<Modifier> modifiers) {
  return {.instance = std::string(instance), .modifiers = std::move(modifiers)};
}

}  // namespace

std::vector<MeshRule> small_llama_mesh_rules() {
  return {
      rule("tpu-v4-(1024|2048)", {SetMesh{{.data = -1, .fsdp = 16}}}),
      rule("tpu-v5e-256", {SetMesh{{.data = -1, .fsdp = 256}}, keep(dots_offloaded()), AccumulateGradients{4}}),
      rule("tpu-v5e-256-[0-9]+", {SetMesh{{.data = -1, .fsdp = 256}}, keep(SaveDots{})}),
      rule("tpu-v6e-256(-[0-9]+)?", {SetMesh{{.data = -1, .fsdp = 256}}, keep(attention_offloaded())}),
      rule("tpu-v5p-.*", {SetMesh{{.data = -1, .fsdp = 64}}, keep(attention())}),
      rule("gpu-(p5\\.48xlarge|p4de\\.24xlarge|a3-.*|h100)-.*", {SetMesh{{.data = -1, .fsdp = 8}}, keep(attention())}),
      rule("gpu-(a4-.*|b200)-.*", {SetMesh{{.data = -1, .fsdp = 8}}, keep(attention())}),
      rule("neuron-trn2-.*", {SetMesh{{.data = 1, .fsdp = -1, .model = 4}}, keep(attention())}),
      rule("cpu-.*", {SetMesh{{.data = -1}}}),
  };
}

std::vector<MeshRule> large_llama_mesh_rules() {
  return {
      rule("tpu-v5e-256(-[0-9]+)?", {SetMesh{{.data = -1, .fsdp = 256}}, keep(dots_offloaded())}),
      rule("tpu-v6e-256", {SetMesh{{.data = -1, .fsdp = 256}}, keep(attention_offloaded()), AccumulateGradients{4}}),
      rule("tpu-v6e-256-[0-9]+", {SetMesh{{.data = -1, .fsdp = 256}}, keep(attention_offloaded())}),
      rule("tpu-v5p-.*", {SetMesh{{.data = 1, .fsdp = -1}}, keep(attention())}),
      rule("gpu-(p5\\.48xlarge|p4de\\.24xlarge)-.*", {SetMesh{{.data = -1, .fsdp = 128}}, keep(attention())}),
      rule("gpu-(a3-.*|h100)-.*", {SetMesh{{.data = 1, .fsdp = -1, .model = 8}}, keep(attention())}),
      rule("gpu-(a4-.*|b200)-.*", {SetMesh{{.data = -1, .fsdp = 16}}, keep(attention())}),
      rule("neuron-trn2-.*", {SetMesh{{.data = 1, .fsdp = -1, .model = 4}}, keep(attention())}),
      rule("cpu-.*", {SetMesh{{.data = -1}}}),
  };
}

}  // namespace tenon
