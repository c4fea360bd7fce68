#include "tenon/aot/hlo_work.h"

#include <gmock/gmock.h>

#include "tenon/aot/test_hlo.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

pjrt::HloInstruction dot(Dims dims, std::vector<size_t> operands, Dims contracted) {
  pjrt::HloInstruction i = hlo("dot", f32(std::move(dims)), std::move(operands));
  i.contracted = std::move(contracted);
  return i;
}

// A loop of 5 trips: a product [4,8] x [8,16], as a fusion of its own, a reduction over all devices and an elementwise
// instruction.
TEST(HloWork, CountsWhatALoopDoes) {
  pjrt::HloModule module;
  const size_t fused = add_computation(
      module, {hlo("parameter", f32({4, 8})), hlo("parameter", f32({8, 16})), dot({4, 16}, {0, 1}, {1})});
  const pjrt::HloShape carry = tuple_of({f32({4, 8}), f32({8, 16}), f32({4, 16})});
  const size_t body =
      add_computation(module, {hlo("parameter", carry), hlo_member(carry, 0, 0), hlo_member(carry, 0, 1),
                               hlo("fusion", f32({4, 16}), {1, 2}, "", {fused}), hlo("all-reduce", f32({4, 16}), {3}),
                               hlo("negate", f32({4, 16}), {4}), hlo("tuple", carry, {1, 2, 5})});
  add_computation(module, {hlo("parameter", carry), hlo_loop(carry, 0, body, add_condition(module, carry), 5)});
  const HloWork work = count_work(module);
  EXPECT_THAT(work.dot_flops, ElementsAre(Pair(32, 5 * 2.0 * 4 * 16 * 8)));
  // The condition calls something that reads the carry and gives 4 bytes.
  const double product = 4 * (4 * 8 + 8 * 16 + 4 * 16), condition = 4 + static_cast<double>(carry.bytes());
  EXPECT_EQ(work.product_bytes, 5 * (product + condition));
  EXPECT_EQ(work.other_bytes, 5 * 4.0 * 2 * 64);
  EXPECT_EQ(work.collectives, 5);
  EXPECT_EQ(work.instructions, 5 * 3);
}

TEST(HloWork, ProductsOfFusionsWithinFusions) {
  pjrt::HloModule module;
  size_t called = add_computation(module, {hlo("parameter", f32({4, 4})), dot({4, 4}, {0, 0}, {1})});
  called = add_computation(module, {hlo("parameter", f32({4, 4})), hlo("fusion", f32({4, 4}), {0}, "", {called})});
  add_computation(module, {hlo("parameter", f32({4, 4})), hlo("fusion", f32({4, 4}), {0}, "", {called})});
  EXPECT_EQ(count_work(module).product_bytes, 2 * 64.0);
  EXPECT_EQ(count_work(module).other_bytes, 0);
}

TEST(HloWork, TwoDimensionsSummedOver) {
  pjrt::HloModule module;
  pjrt::HloShape half = f32({2, 3, 5});
  half.element_bits = 16;
  add_computation(module, {hlo("parameter", half), hlo("parameter", f32({3, 5, 7})), dot({2, 7}, {0, 1}, {1, 2})});
  EXPECT_THAT(count_work(module).dot_flops, ElementsAre(Pair(16, 2.0 * 14 * 15)));
  EXPECT_EQ(count_work(module).collectives, 0);
}

TEST(HloWork, WhatNothingCallsDoesNothing) {
  pjrt::HloModule module;
  add_computation(module, {hlo("parameter", f32({4, 4})), dot({4, 4}, {0, 0}, {1})});
  add_computation(module, {hlo("parameter", f32({4}))});
  EXPECT_TRUE(count_work(module).dot_flops.empty());
  EXPECT_EQ(count_work(module).instructions, 0);
}

}  // namespace
}  // namespace tenon
