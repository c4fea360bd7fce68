#include "tenon/tune/analysis.h"

#include <gmock/gmock.h>

#include "tenon/config/registry.h"
#include "tenon/data/dataset.h"
#include "tenon/experiments/austen.h"
#include "tenon/experiments/experiment.h"
#include "tenon/nn/parallel_modifiers.h"

namespace tenon {
namespace {

// austen_tiny: 2 layers of width 32 in f32, 8 rows of 32 tokens.
Trainer::Config config(int64_t accumulation) {
  register_everything(Registry::global());
  Trainer::Config c = Austen{.num_layers = 2,
                             .model_dim = 32,
                             .num_heads = 2,
                             .hidden_dim = 64,
                             .batch_size = 8,
                             .sequence_length = 32,
                             .max_steps = 20}();
  c.accumulation = accumulation;
  return c;
}

StepReport traced(const Mesh& mesh) {
  StepReport r;
  r.program_hash = "p";
  r.mesh = mesh;
  r.chip.platform = "cuda";
  r.flops.products = {{DType::f32, 8e6}};
  r.arguments = {{"parameters", 1000}, {"optimizer", 2000}};
  return r;
}

MachineSpeeds speeds() {
  MachineSpeeds s;
  s.peaks = {{DType::f32, 1e6}};
  s.memory = 1e3;
  s.links = 1e4;
  s.network = 1e3;
  return s;
}

TEST(Analysis, AStepTakesAtLeastItsProductsAndItsArguments) {
  const AotTarget target = AotTarget::parse("h100:8");
  Analysis a = analyze(traced(Mesh{{"data", 8}}), config(1), target, speeds());
  EXPECT_DOUBLE_EQ(a.at_least_s, 3);  // 3,000 bytes of arguments at 1,000 a second; products take 8e6 / 8 / 1e6 = 1
  MachineSpeeds fast = speeds();
  fast.memory = 1e6;
  a = analyze(traced(Mesh{{"data", 8}}), config(1), target, fast);
  EXPECT_DOUBLE_EQ(a.at_least_s, 1);
  // Gradients are summed over 8: 2 x 1000 x 7 / 8 bytes are sent.
  EXPECT_DOUBLE_EQ(a.guess_s, 1 + 1750 / 1e4);
  EXPECT_EQ(a.program, "p");
  const Mesh outer{{"data", 8}, {"outer.data", 2}};
  EXPECT_EQ(analyze(traced(outer), config(1), target, fast).program, "p on data=8,outer.data=2");
}

TEST(Analysis, LayersKeepTheirInputs) {
  const AotTarget target = AotTarget::parse("h100:8");
  // Two layers of 8 x 32 x 32 floats, over 8 devices; over 2 microbatches too.
  EXPECT_EQ(analyze(traced(Mesh{{"data", 8}}), config(1), target, speeds()).least_bytes, 3000 + 2 * 32768 / 8);
  EXPECT_EQ(analyze(traced(Mesh{{"fsdp", 4}, {"model", 2}}), config(2), target, speeds()).least_bytes,
            3000 + 2 * 32768 / 16);
  const auto piped = [&](const PipelineParallel& pipeline) {
    Trainer::Config c = config(1);
    pipeline(c);
    return analyze(traced(Mesh{{"pipeline", 2}, {"data", 2}}), c, target, speeds()).least_bytes;
  };
  // A stage has one layer, whose inputs of all microbatches GPipe keeps: what the batch is on two devices. 1F1B keeps
  // three of them, and those of the layers of one.
  EXPECT_EQ(piped({.microbatches = 4}), 3000 + 32768 / 2);
  EXPECT_EQ(piped({.microbatches = 8, .schedule = PipelineSchedule::one_f_one_b}), 3000 + (3 + 1) * 32768 / 2 / 8);
  EXPECT_EQ(piped({.microbatches = 1, .schedule = PipelineSchedule::one_f_one_b}), 3000 + (1 + 1) * 32768 / 2);
}

TEST(Analysis, WhatAMeshMoves) {
  const auto moved = [](const Mesh& mesh, int64_t accumulation, const char* target, const Modifier& modifier = {}) {
    Trainer::Config c = config(accumulation);
    if (modifier) modifier(c);
    const Analysis a = analyze(traced(mesh), c, AotTarget::parse(target), speeds());
    return a.guess_s - a.at_least_s;
  };
  // fsdp: 3 gathers or scatters of 3 times what a device has, each microbatch.
  EXPECT_NEAR(moved(Mesh{{"fsdp", 4}}, 1, "h100:4"), 3 * 3000 / 1e4, 1e-9);
  EXPECT_NEAR(moved(Mesh{{"fsdp", 4}}, 2, "h100:4"), 2 * 3 * 3000 / 1e4, 1e-9);
  // model: 4 sums of the residual stream in each of 2 layers, however many microbatches it comes in.
  for (const int64_t accumulation : {1, 4}) {
    EXPECT_NEAR(moved(Mesh{{"model", 2}}, accumulation, "h100:2"), 4 * 2 * 32768 * 2 * 0.5 / 1e4, 1e-9);
  }
  // fsdp between two hosts, data and model within: the network carries what fsdp moves alone.
  const Mesh outer{{"data", 2}, {"fsdp", 4}, {"model", 2}, {"outer.fsdp", 2}};
  EXPECT_NEAR(moved(outer, 1, "h100:2x8"), 3 * 3000 / 1e3 + (2 * 1000 * 0.5 + 4 * 2 * (32768 / 8) * 2 * 0.5) / 1e4,
              1e-9);
  // pipeline: 4 microbatches and one in which a stage waits, 8 KiB each, there and back.
  EXPECT_NEAR(moved(Mesh{{"pipeline", 2}}, 1, "h100:2", PipelineParallel{4}), 2 * 5 * 8192 / 1e4, 1e-9);
  // fsdp too: each of the five gathers.
  EXPECT_NEAR(moved(Mesh{{"pipeline", 2}, {"fsdp", 4}}, 1, "h100:8", PipelineParallel{2}),
              (2 * 3 * 4096 + 3 * 3 * 3000) / 1e4, 1e-9);
  // Between hosts of 8 the network carries it; within them links do.
  EXPECT_NEAR(moved(Mesh{{"data", 2}, {"fsdp", 8}}, 1, "h100:2x8"), 3 * 7000 / 1e4 + 2 * 1000 * 0.5 / 1e3, 1e-9);
}

}  // namespace
}  // namespace tenon
