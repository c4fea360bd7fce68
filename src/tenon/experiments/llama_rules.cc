// Mesh rules of the Llamas: tables of kinds of machines (machines.toml), their sizes, and what a model is given there.
//
// Rules are those of AXLearn's Fuji models where it has one for the kind of machine (Lee et al. 2025, "AXLearn:
// Modular, Hardware-Agnostic Large Model Training"; apple/axlearn, experiments/text/gpt/fuji.py); "published" means
// these. Their meshes, and what they keep of a layer, are taken over; where a published rule gives a mesh alone,
// AXLearn's default keeps the products of attention. Into how many microbatches a batch falls, and all that isn't
// called published, is this project's own, by arithmetic: parameters, what the optimizer keeps, gradients and what is
// kept of the layers leave room (llama_rules_test.cc).
#include "tenon/experiments/llama.h"
#include "tenon/experiments/rule_parts.h"
#include "tenon/nn/dot/quantized_dot.h"
#include "tenon/nn/parallel_modifiers.h"
#include "tenon/trainer/modifiers.h"

namespace tenon {
namespace {

SaveTags attention_offloaded() { return {.host = attention_products().device}; }
SaveTags qkv() { return {.device = {"q_proj", "k_proj", "v_proj"}}; }
SaveTags qkv_and_linear1() { return {.device = {"q_proj", "k_proj", "v_proj", "gate", "up"}}; }
// All products, in host memory.
SaveTags dots_offloaded() { return {.host = {"q_proj", "k_proj", "v_proj", "context", "o_proj", "gate", "up"}}; }

bool is_larger_than_7b(const Llama& llama) { return llama.num_layers * llama.model_dim > 32 * 4096; }

// The two rules of the paper's appendix A, word for word, for who chooses them by name.
void add_rules_of_the_paper(const Llama& llama, MeshRuleList& list) {
  list.add(
      {.instance = std::string("paper-tpu-v5e-256-[0-9]+"),
       .modifiers = {SetMesh{shared_by(256)}, keep(dots_offloaded()), UseDot{Int8Dot::Config{}, "model.decoder"}}});
  if (llama.num_heads % 8 != 0) return;
  Fp8Dot::Config fp8;
  fp8.history = 128;
  list.add({.instance = std::string("paper-gpu-h100-[0-9]+"),
            .modifiers = {SetMesh{shared_by_all(8)}, keep(attention_products()), UseDot{fp8, "model.decoder"}}});
}

void add_small_tpus(const Llama& llama, MeshRuleList& list) {
  const bool is_8b = llama.num_kv_heads.has_value();
  const bool is_larger = is_larger_than_7b(llama);
  const int64_t tokens = is_larger ? 8192 : 16384;
  // Published; its devices are chips, of two of ours.
  list.add(kV4, powers_of_two(1024, 2048),
           {{.data = -1, .fsdp = is_larger ? 32 : 16, .model = 2}, tokens / 2, {keep(attention_products())}});
  // Published: one sequence of 4096 tokens at a time, two slices two; four slices keep products on the devices, where
  // there is room.
  const bool has_room = !is_larger && llama.sequence_length <= 4096;
  list.add(kV5e, slices(256, 256, {1}), {shared_by(256), 4096, {keep(dots_offloaded())}});
  list.add(kV5e, slices(256, 256, {2}), {shared_by(256), 8192, {keep(dots_offloaded())}});
  list.add(kV5e, slices(256, 256, {4, 8, 16}),
           {shared_by(256), 4096, {keep(has_room ? RematPolicy(SaveDots{}) : RematPolicy(dots_offloaded()))}});
  // Published for two to eight slices of 7B.
  list.add(kV6e, slices(256, 256, {1, 2, 4, 8, 16}), {shared_by(256), tokens, {keep(attention_offloaded())}});
  // Published, from 64 chips of two cores.
  list.add(kV5p, powers_of_two(is_larger ? 16 : 8, 64, 2), {shared_by_all(), tokens, {keep(attention_products())}});
  list.add(kV5p, v5p_sizes(128),
           is_8b ? MachineLayout{shared_by(8), 2 * tokens, {keep(attention_products())}}
                 : MachineLayout{shared_by(64), tokens, {keep(SaveDots{})}});
  list.add(k7x, powers_of_two(8, 32), {shared_by_all(), tokens, {keep(attention_products())}});
  list.add(k7x, powers_of_two(64, kMostChips), {shared_by(64), tokens, {keep(attention_products())}});
}

void add_large_tpus(const Llama& llama, MeshRuleList& list) {
  const int64_t tokens = llama.num_kv_heads ? 8192 : 4096;
  // Published for four slices. Rows of more than 4096 tokens leave no room for the inputs of the layers.
  list.add(
      kV5e, slices(256, 256, {1, 2, 4, 8, 16}),
      llama.sequence_length <= 4096
          ? MachineLayout{shared_by(256), 4096, {keep(dots_offloaded())}}
          : MachineLayout{{.data = -1, .fsdp = 64, .model = 4}, 4096, {SequenceParallel{}, keep(dots_offloaded())}});
  // Published for one slice, four and eight.
  list.add(kV6e, slices(256, 256, {1, 2, 4, 8, 16}), {shared_by(256), 4096, {keep(attention_offloaded())}});
  // Published; slices beyond one repeat the parameters.
  list.add(kV5p, powers_of_two(64, kMostCores, 2), {shared_by_all(), tokens, {keep(qkv())}});
  for (const int64_t size : {512, 1024, 2048}) {
    list.add(kV5p, slices(size, size / 2, {2, 4, 8}), {shared_by(size / 2), tokens, {keep(qkv())}});
  }
  // Published for 128 and 256.
  list.add(k7x, powers_of_two(32, 64), {shared_by_all(), tokens, {keep(qkv())}});
  list.add(k7x, powers_of_two(128, kMostChips), {shared_by(128), tokens, {keep(qkv())}});
}

}  // namespace

std::vector<MeshRule> llama_134m_mesh_rules() {
  const std::string kind = "(tpu-[a-z0-9]+|gpu-.*)-";
  const auto microbatches = [&](const char* size, int64_t count) {
    return MeshRule{.instance = kind + size, .modifiers = {AccumulateGradients{count}}};
  };
  return {microbatches("1", 4), microbatches("2", 2), microbatches("[48]", 1)};
}

std::vector<MeshRule> small_llama_mesh_rules(const Llama& llama) {
  const int64_t tokens = is_larger_than_7b(llama) ? 8192 : 16384;
  MeshRuleList list(llama.batch_size, llama.sequence_length);
  add_small_tpus(llama, list);
  // Published for 256, 512 and 1024.
  list.add(gpus({kP5, kA3, kA4}), powers_of_two(8, kMostGpus), {shared_by(8), tokens, {keep(attention_products())}});
  // Published for 64 machines; the partition specs of its sequence-parallel form.
  list.add(kTrn2, powers_of_two(16, kMostChips),
           {shared_by_all(4), tokens, {SequenceParallel{}, keep(attention_products())}});
  add_rules_of_the_paper(llama, list);
  list.add(on_cpus());
  return list.rules();
}

std::vector<MeshRule> large_llama_mesh_rules(const Llama& llama) {
  const int64_t tokens = llama.num_kv_heads ? 8192 : 4096;
  MeshRuleList list(llama.batch_size, llama.sequence_length);
  add_large_tpus(llama, list);
  // Published for 512 and 1024.
  list.add(gpus({kP5}), powers_of_two(64, 64), {shared_by_all(), tokens, {keep(attention_products())}});
  list.add(gpus({kP5}), powers_of_two(128, kMostGpus), {shared_by(128), tokens, {keep(attention_products())}});
  // Published for 256, 512 and 1024.
  list.add(gpus({kA3}), powers_of_two(64, kMostGpus), {shared_by(64), tokens, {keep(attention_products())}});
  list.add(gpus({kA4}), powers_of_two(16, kMostGpus), {shared_by(16), tokens, {keep(attention_products())}});
  // Published for 64 machines.
  list.add(kTrn2, powers_of_two(32, kMostChips),
           {shared_by_all(4), tokens, {SequenceParallel{}, keep(qkv_and_linear1())}});
  add_rules_of_the_paper(llama, list);
  list.add(on_cpus());
  return list.rules();
}

// One sequence at a time, nothing kept of a layer but its input: 126 * 8192 * 16384 * 2 bytes = 33.8 GB in bf16,
// besides parameters, moments and gradients in f32, 16 bytes * 406e9 / devices, and 4 more for the sum over
// microbatches.
std::vector<MeshRule> llama_405b_mesh_rules(const Llama& llama) {
  const SetRemat nothing = keep(SaveNothing{});
  // The devices that share a layer share the width of its input. `fsdp` goes across slices here, and libtpu (0.0.52)
  // then gathers an input that is split along its tokens whole, in every layer.
  const SetPartitions split_width{
      {{"**.activation_partition", PartitionSpec{{"data", "expert", "fsdp"}, "seq", "model"}}}};
  MeshRuleList list(llama.batch_size, llama.sequence_length);
  // Compiled: two slices of v6e take 22.9 of 31.2 GiB a device, eight of v5e 11.3 of 15.8.
  list.add(kV5e, slices(256, 256, {8, 16}), {shared_by_all(8), 1, {split_width, nothing}});
  list.add(kV6e, slices(256, 256, {2, 4, 8, 16}), {shared_by_all(8), 1, {split_width, nothing}});
  // Published for any size; below 512 devices a whole layer at a time is too much.
  list.add(kV5p, powers_of_two(512, 512, 2), {shared_by_all(4), 1, {nothing}});
  list.add(kV5p, powers_of_two(1024, kMostCores, 2), {shared_by_all(), 1, {nothing}});
  // Published.
  list.add(k7x, powers_of_two(256, kMostChips), {shared_by(256), 1, {nothing}});
  list.add(gpus({kP5, kA3}), powers_of_two(256, kMostGpus), {shared_by_all(8), 1, {nothing}});
  list.add(gpus({kA4}), powers_of_two(128, kMostGpus), {shared_by_all(8), 1, {nothing}});
  list.add(kTrn2, powers_of_two(256, kMostChips), {shared_by_all(4), 1, {SequenceParallel{}, nothing}});
  list.add(on_cpus());
  return list.rules();
}

}  // namespace tenon
