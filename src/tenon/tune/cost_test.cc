#include "tenon/tune/cost.h"

#include <gmock/gmock.h>

#include "tenon/aot/test_hlo.h"

namespace tenon {
namespace {

MachineSpeeds slow_speeds() {
  MachineSpeeds s;
  s.peaks = {{DType::f32, 1e9}, {DType::bf16, 4e9}};
  s.memory = 1e8;
  s.links = 1e7;
  s.network = 1e6;
  s.collective_s = 1e-3;
  s.instruction_s = 1e-6;
  return s;
}

TEST(Cost, EachPartByItsSpeed) {
  StepCounts c;
  c.products = {{DType::f32, 1e9}, {DType::bf16, 2e9}};
  c.product_bytes = 1e8;
  c.other_bytes = 3e7;
  c.link_bytes = 2e6;
  c.network_bytes = 1e5;
  c.collectives = 20;
  c.instructions = 1000;
  const StepTime t = time_step(c, slow_speeds());
  EXPECT_DOUBLE_EQ(t.products, 1.5);  // 1 + 0.5, above 1 s of their bytes
  EXPECT_DOUBLE_EQ(t.other, 0.3);
  EXPECT_DOUBLE_EQ(t.links, 0.2);
  EXPECT_DOUBLE_EQ(t.network, 0.1);
  EXPECT_DOUBLE_EQ(t.collectives, 0.02);
  EXPECT_DOUBLE_EQ(t.instructions, 0.001);
  EXPECT_DOUBLE_EQ(t.sum(), 1.5 + 0.3 + 0.2 + 0.1 + 0.02 + 0.001);
  EXPECT_DOUBLE_EQ(t.bound.seconds(), 1.5);
  EXPECT_EQ(t.bound.by(), "compute");
  c.product_bytes = 4e8;
  EXPECT_DOUBLE_EQ(time_step(c, slow_speeds()).products, 4);
  EXPECT_DOUBLE_EQ(time_step(c, slow_speeds()).bound.seconds(), 4.3);
  EXPECT_EQ(time_step(c, slow_speeds()).bound.by(), "memory");
}

TEST(Cost, WhatIsNotKnownCountsNothing) {
  StepCounts c;
  c.products = {{DType::f32, 1e9}};
  c.other_bytes = 5;
  c.collectives = 3;
  EXPECT_EQ(time_step(c, {}).sum(), 0);
  EXPECT_EQ(time_step(c, {}).bound.by(), "");
  EXPECT_EQ(slow_speeds().peak(DType::i8), 4e9);
}

TEST(Cost, ChipsAsTheirTableSays) {
  Chip chip;
  chip.peaks = {{DType::bf16, 7}};
  chip.memory_speed = 5;
  chip.link_speed = 3;
  chip.network_speed = 2;
  const MachineSpeeds s = speeds_of(chip, 4);
  EXPECT_EQ(s.links, 12);
  EXPECT_EQ(s.memory, 5);
  EXPECT_EQ(s.network, 2);
  EXPECT_EQ(s.peak(DType::f32), 7);
  EXPECT_EQ(s.collective_s, 0);
}

// The graph has 8,000 FLOPs of products, 2,000 of attention of which the mask leaves half; on two devices.
StepReport step_report() {
  StepReport r;
  r.mesh = Mesh{{"data", 2}};
  r.chip.platform = "tpu";
  r.flops.products = {{DType::bf16, 8000}};
  r.flops.attention = 2000;
  r.flops.attention_unmasked = 1000;
  r.arguments = {{"parameters", 640}};
  return r;
}

TEST(Cost, ProductsAreSharedEvenlyWhereTheProgramDoesNotShowThem) {
  StepReport r = step_report();
  EXPECT_DOUBLE_EQ(count_step(r).products.at(DType::bf16), 3500);
  EXPECT_DOUBLE_EQ(count_step(r).other_bytes, 640);
}

// A product that both devices compute: [16,16] x [16,16] is 8,192 FLOPs.
TEST(Cost, OnTheCpuEachDeviceCountsWhatItComputes) {
  StepReport r = step_report();
  pjrt::HloInstruction dot = hlo("dot", f32({16, 16}), {0, 0});
  dot.contracted = {1};
  add_computation(r.compiled.emplace().optimized.emplace(), {hlo("parameter", f32({16, 16})), dot});
  EXPECT_DOUBLE_EQ(count_step(r).products.at(DType::bf16), 3500);
  r.chip.platform = "cpu";
  EXPECT_EQ(count_step(r).products, (std::map<DType, double>{{DType::f32, 8192}}));
  EXPECT_DOUBLE_EQ(count_step(r).product_bytes, 3 * 4 * 256);
  EXPECT_EQ(count_step(r).instructions, 1);
  r.kernels = {{"attention", "decoder", "cpu_attention", {}, 1}};
  EXPECT_EQ(count_step(r).products, (std::map<DType, double>{{DType::f32, 8192 + 500}}));
  r.kernels[0].implementation = "";  // its body, whose products are in the program
  EXPECT_EQ(count_step(r).products, (std::map<DType, double>{{DType::f32, 8192}}));
}

}  // namespace
}  // namespace tenon
