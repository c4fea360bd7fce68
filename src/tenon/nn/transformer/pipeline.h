// A stack of layers over the mesh axis `pipeline`: each device has some of the layers, and microbatches go from one to
// the next (Huang et al. 2019). It is one loop that every device runs at the same time, in which what a device has
// computed moves on to the next; its gradient is the loop backwards.
//
// With n stages and M microbatches, devices wait for (n - 1) / (M + n - 1) of the time; with r rounds, in each of which
// a device has fewer layers, for (n - 1) / (r M + n - 1) (Narayanan et al. 2021, section 2.2).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/config/config.h"
#include "tenon/ir/trace.h"

namespace tenon {

// What a device does when, in training.
//
// gpipe: all microbatches pass, then their gradients come back; what the backward pass needs of all of them is kept.
// one_f_one_b: from when the first microbatch has passed, a device computes the gradient of one for each that it lets
// pass, and keeps what its layers were given of no more than 2 n - 1, n being the stages (one_f_one_b.h).
enum class PipelineSchedule : uint8_t { gpipe, one_f_one_b };
TENON_ENUM(PipelineSchedule, gpipe, one_f_one_b)

// Where the program's mesh has one stage the stack is an ordinary scan, and these have no effect.
struct PipelineConfig {
  // Parts of a batch that are on their way at the same time.
  int64_t microbatches = 4;
  // How often a microbatch goes around: layers i of n * rounds equal pieces are on device i mod n. Above 1 the arrays
  // of the layers, which are stored in order, cross devices in every step.
  int64_t rounds = 1;
  // Without gradients there is but one.
  PipelineSchedule schedule = PipelineSchedule::gpipe;
  // Whether layers are trained together with what is behind them, the loss included.
  bool takes_loss(const Mesh& mesh) const;
  void check(Checker& c) const;
  TENON_FIELDS(microbatches, rounds, schedule)
  bool operator==(const PipelineConfig&) const = default;
};

// What a device computes at one time: some layers of one microbatch.
struct StageInput {
  std::vector<Tensor> arrays;  // of its layers, [layers, …]
  Tensor first;                // i32: the number of its first layer
  Tensor microbatch;           // i32
  std::vector<Tensor> carry;   // [B / M, …]
};
struct StageOutput {
  std::vector<Tensor> carry;
  std::vector<Tensor> collected;  // by layer: [layers, …]
  Tensor loss = {};               // scalar, of one_f_one_b alone: what the layers add to the loss; empty: nothing
};
using StageFn = std::function<StageOutput(const StageInput&)>;

struct PipelineOutput {
  std::vector<Tensor> carry;      // [B, …]
  std::vector<Tensor> collected;  // by microbatch and layer: [M, L, …]
};
// All L layers on `carry` [B,…], their arrays being [L,…] each. `stage` may use what is outside. Throws `mesh_mismatch`
// when examples, layers or microbatches don't divide, `unsupported` inside a manual region.
PipelineOutput run_pipeline(const Mesh& mesh, const PipelineConfig& config, int64_t num_layers,
                            const std::vector<Tensor>& arrays, const std::vector<Tensor>& carry, const StageFn& stage);

// [B,…] -> [M, B / M, …]: example i goes to microbatch i mod M; and back. Throws `mesh_mismatch`.
Tensor split_microbatches(const Tensor& x, int64_t microbatches);
Tensor join_microbatches(const Tensor& x);

}  // namespace tenon
