#include "tenon/aot/bound.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

Chip chip() {
  Chip c;
  c.peaks = {{DType::bf16, 100}, {DType::f32, 50}};
  c.memory_speed = 10;
  c.link_speed = 4;
  c.network_speed = 1;
  return c;
}

TEST(Bound, IsTheSlowestOfFour) {
  StepWork work;
  work.flops.total = 1000;
  work.flops.products = {{DType::bf16, 400}, {DType::f32, 100}, {DType::i8, 100}};  // i8: as bf16
  work.memory_bytes = 60;
  work.link_bytes = 40;
  work.network_bytes = 3;
  const StepBound bound = bound_step(work, chip(), 2);
  EXPECT_DOUBLE_EQ(bound.compute_s, 4 + 2 + 1);
  EXPECT_DOUBLE_EQ(bound.memory_s, 6);
  EXPECT_DOUBLE_EQ(bound.link_s, 5);
  EXPECT_DOUBLE_EQ(bound.network_s, 3);
  EXPECT_EQ(bound.seconds(), bound.compute_s);
  EXPECT_EQ(bound.by(), "compute");
  work.network_bytes = 8;
  EXPECT_EQ(bound_step(work, chip(), 2).by(), "network");
  EXPECT_EQ(bound_step(work, Chip(), 1).seconds(), 0);
  EXPECT_EQ(bound_step(work, Chip(), 1).by(), "");
}

TEST(Bound, MaskedPairsMayBeSkipped) {
  StepWork work;
  work.flops.products = {{DType::bf16, 400}};
  work.flops.attention = 200;
  work.flops.attention_unmasked = 100;
  EXPECT_DOUBLE_EQ(bound_step(work, chip(), 1).compute_s, 3);
}

TEST(Bound, Mfu) {
  EXPECT_DOUBLE_EQ(mfu(1000, 10, 2, chip()), 0.5);
  EXPECT_EQ(mfu(1000, 0, 2, chip()), 0);
  EXPECT_EQ(mfu(1000, 10, 2, Chip()), 0);
}

}  // namespace
}  // namespace tenon
