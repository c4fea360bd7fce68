// What rules of several models are written with: kinds of machines (machines.toml), meshes, what is kept of a layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/experiments/mesh_rule_list.h"
#include "tenon/nn/modifiers.h"

namespace tenon {

// Slices of v5e and tpu7x have two names; GPUs and Trainium go by the cloud's machine or by the chip.
constexpr const char* kV4 = "tpu-v4";
constexpr const char* kV5e = "tpu-(v5e|v5litepod)";
constexpr const char* kV6e = "tpu-v6e";
constexpr const char* kV5p = "tpu-v5p";
constexpr const char* k7x = "tpu-(7x|tpu7x)";
constexpr const char* kTrn2 = "neuron-(trn2n?\\.48xlarge|trn2)";
// Of GPUs, what goes into gpus(): by what published rules tell apart, the last with 180 GB and more.
constexpr const char* kP5 = "p5\\.48xlarge|p4de\\.24xlarge|h100|a100";
constexpr const char* kA3 = "a3-(high|mega|ultra)gpu-8g|p5en\\.48xlarge|h200";
constexpr const char* kA4 = "a4-highgpu-8g|p6-b200\\.48xlarge|b200|mi300x";
std::string gpus(const std::vector<std::string>& names);

constexpr int64_t kMostGpus = 16384, kMostCores = 8192, kMostChips = 4096;
// v5p in cores, two to a device, from so many on; with several slices of what there may be several of.
std::vector<MachineSize> v5p_sizes(int64_t first);

// Parameters shared by `fsdp` devices, or by all that `model` leaves.
MeshConfig shared_by(int64_t fsdp);
MeshConfig shared_by_all(int64_t model = 1);

// What is kept of each layer of a transformer.
SetRemat keep(RematPolicy policy);
// The products of attention.
SaveTags attention_products();

MeshRule on_cpus();

}  // namespace tenon
